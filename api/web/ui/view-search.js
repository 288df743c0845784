// The search over everything: tasks, services, hosts, GPUs and images, by their ids, names, teams and reasons.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { now } from './api.js'
import { idOf, imageName, millis, nameOf, shortID } from './format.js'
import { html } from './parts.js'
import { linkOf, useImages } from './view-images.js'

const most = 8 // of each kind that are shown

// teamsOf is the teams of the tasks that wait or have GPUs, by id.
function teamsOf(store) {
  const teams = new Map(store.queue.map(q => [q.taskId, q]))
  for (const gpu of store.gpus) for (const owner of [gpu, ...(gpu.shares || [])]) if (owner.task) teams.set(owner.task, { team: owner.team })
  return teams
}

const living = (a, b) => (a.lastStatus === 'STOPPED') - (b.lastStatus === 'STOPPED') || millis(b.createdAt) - millis(a.createdAt)

// kindsOf are the kinds of what can be found. items have the order in which they are shown; text is what is searched, title and hint what is shown.
function kindsOf(store, images) {
  const known = teamsOf(store)
  return [
    { noun: 'Tasks', items: [...store.tasks.values()].sort(living), link: t => '#/tasks/' + idOf(t.taskArn), title: t => `${shortID(idOf(t.taskArn))} ${nameOf(t.taskDefinitionArn)}`,
      hint: t => { const { team, waitsFor } = known.get(idOf(t.taskArn)) || {}; return [t.lastStatus, (store.hostOf(t) || {}).name, team, t.group, waitsFor, t.stoppedReason, ...(t.containers || []).map(c => c.reason)].filter(Boolean).join(', ') },
      text: t => idOf(t.taskArn) },
    { noun: 'Services', items: [...store.services.values()].filter(s => s.status !== 'INACTIVE'), link: s => '#/services/' + encodeURIComponent(s.serviceArn), title: s => s.serviceName,
      hint: s => [idOf(s.clusterArn), `${s.runningCount} of ${s.desiredCount}`, nameOf(s.taskDefinition), ...(s.deployments || []).map(d => d.rolloutStateReason)].filter(Boolean).join(', '), text: () => '' },
    { noun: 'Hosts', items: store.hosts, link: h => '#/hosts/' + h.id, title: h => h.name, hint: h => [h.cluster, h.role, h.connected ? h.status : 'DOWN', h.address].join(', '), text: h => h.id },
    { noun: 'GPUs', items: store.gpus, link: g => '#/hosts/' + g.hostId, title: g => `GPU ${g.index} of ${g.host}`, hint: g => [g.model, g.health, g.team, g.definition, g.problem, g.uuid].filter(Boolean).join(', '), text: g => g.task || '' },
    { noun: 'Images', items: images, link: linkOf, title: i => imageName(i.name), hint: i => i.digest.slice(0, 19), text: i => i.digest },
  ]
}

// find is what has all the words, some of each kind, and how many more there are.
function find(kinds, words) {
  const sought = words.toLowerCase().split(/\s+/).filter(Boolean)
  if (!sought.length) return []
  return kinds.map(kind => {
    const found = kind.items.filter(item => {
      const text = [kind.title(item), kind.hint(item), kind.text(item)].join(' ').toLowerCase()
      return sought.every(word => text.includes(word))
    })
    return { noun: kind.noun, more: Math.max(0, found.length - most), found: found.slice(0, most).map(item => ({ link: kind.link(item), title: kind.title(item), hint: kind.hint(item) })) }
  }).filter(kind => kind.found.length)
}

let before = '#/pool' // the last place that was no search

addEventListener('hashchange', event => {
  const left = new URL(event.oldURL).hash
  if (left && !left.startsWith('#/search')) before = left
})

// Search is a place of its own, #/search/WORDS. The arrows choose, Enter goes there, Escape goes back to where one was.
export function Search({ store, id }) {
  const input = useRef()
  const [words, write] = useState(id || '')
  const [chosen, choose] = useState(0)
  const { value: images = [] } = useImages(store)
  const results = useMemo(() => find(kindsOf(store, images), words), [words, images, Math.floor(now() / 1000)])
  const all = results.flatMap(kind => kind.found)
  const at = Math.min(chosen, all.length - 1)
  useLayoutEffect(() => input.current.focus(), []) // at once: the next key is for it
  useEffect(() => { const row = document.getElementById('found-' + at); if (row) row.scrollIntoView({ block: 'nearest' }) }, [at])
  const change = event => {
    write(event.target.value)
    choose(0)
    history.replaceState(null, '', '#/search/' + encodeURIComponent(event.target.value))
  }
  const press = event => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step && all.length) choose((at + step + all.length) % all.length)
    else if (event.key === 'Enter' && all[at]) location.hash = all[at].link
    else if (event.key === 'Escape') location.hash = before
    else return
    event.preventDefault()
  }
  let n = 0
  return html`
    <div class="palette">
      <input ref=${input} value=${words} onInput=${change} onKeyDown=${press} spellcheck=${false} autocomplete="off" placeholder="An id, a name, a team, a reason" role="combobox" aria-label="Search everything"
        aria-expanded=${all.length > 0} aria-controls="found" aria-activedescendant=${all.length ? 'found-' + at : undefined} />
      <div id="found" role="listbox" aria-label="What was found">${results.map(kind => html`
        <section role="group" aria-label=${kind.noun} key=${kind.noun}><h2>${kind.noun}</h2>${kind.found.map(item => {
          const i = n++
          return html`<a key=${item.link} id=${'found-' + i} role="option" aria-selected=${i === at} tabindex="-1" href=${item.link}><b>${item.title}</b> <span class="hint">${item.hint}</span></a>`
        })}${kind.more > 0 && html`<p class="hint">${kind.more} more: write more words.</p>`}</section>`)}</div>
      ${words.trim() && !all.length && html`<p class="empty" role="status">Nothing was found. Tasks that have ended long ago: pinion history.</p>`}
    </div>`
}
