// The search: all words of the question have to be in a section. Its index is loaded when somebody searches, and works without a server.
'use strict'
const pinionDocs = (() => {
  const root = document.documentElement.dataset.root
  const input = document.querySelector('input[type=search]')
  const results = document.getElementById('results')
  const most = 20
  let sections

  const element = (name, ...children) => {
    const e = document.createElement(name)
    e.append(...children)
    return e
  }
  const load = () => {
    if (load.begun) return
    load.begun = true
    const script = document.createElement('script')
    script.src = root + 'search.js'
    script.onerror = () => show([element('p', 'The index of the search cannot be read: search.js is missing beside this page.')])
    document.head.append(script)
  }
  const show = children => {
    results.replaceChildren(...children)
    results.hidden = children.length === 0
  }
  const score = (section, words) => {
    let sum = 0
    for (const word of words) {
      const of = section.title.includes(word) * 6 + section.heading.includes(word) * 9 + section.text.includes(word)
      if (of === 0) return 0
      sum += of
    }
    return sum
  }
  // excerpt is the text around the first word that is in it, with the words marked.
  const excerpt = (section, words) => {
    const first = Math.max(0, Math.min(...words.map(word => section.text.indexOf(word)).filter(at => at >= 0)) - 60)
    const text = section.shown[3].slice(Number.isFinite(first) ? first : 0).slice(0, 180)
    const parts = []
    let rest = text
    while (rest) {
      const found = words.map(word => [rest.toLowerCase().indexOf(word), word.length]).filter(([at]) => at >= 0).sort((a, b) => a[0] - b[0])[0]
      if (!found) break
      parts.push(rest.slice(0, found[0]), element('mark', rest.slice(found[0], found[0] + found[1])))
      rest = rest.slice(found[0] + found[1])
    }
    return element('small', ...parts, rest)
  }
  const search = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean)
    if (words.length === 0) return show([])
    if (!sections) return show([element('p', 'Loading ...')])
    const found = sections.map(section => [score(section, words), section]).filter(([n]) => n > 0).sort((a, b) => b[0] - a[0])
    if (found.length === 0) return show([element('p', 'Nothing has all of these words.')])
    show(found.slice(0, most).map(([, section]) => {
      const [address, title, heading] = section.shown
      const link = element('a', element('b', title), heading === title ? '' : ' › ' + heading, excerpt(section, words))
      link.href = root + address
      return link
    }))
  }

  input.hidden = false
  input.addEventListener('focus', load)
  input.addEventListener('input', search)
  input.form.addEventListener('submit', event => {
    event.preventDefault()
    results.querySelector('a')?.click()
  })
  results.addEventListener('click', event => { if (event.target.closest('a')) show([]) })
  document.addEventListener('keydown', event => {
    if (event.key === '/' && document.activeElement !== input) {
      event.preventDefault()
      input.focus()
    } else if (event.key === 'Escape') {
      input.value = ''
      show([])
    }
  })
  return {
    found: list => {
      sections = list.map(shown => ({ shown, title: shown[1].toLowerCase(), heading: shown[2].toLowerCase(), text: shown[3].toLowerCase() }))
      search()
    },
  }
})()
