// The page: signing in, where one is, and what is shown there.
import { render } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Client, setClock } from './api.js'
import { clock } from './format.js'
import { Help, useKeys } from './keys.js'
import { html, useStore } from './parts.js'
import { current, end, whenLeft } from './session.js'
import { SignIn } from './signin.js'
import { Store, unknown } from './store.js'
import { Image, Images } from './view-images.js'
import { Events, Host, Hosts, Queue, Service, Services, Usage } from './view-lists.js'
import { Pool } from './view-pool.js'
import { Search } from './view-search.js'
import { Task, Tasks } from './view-tasks.js'

// places are the views, by their hash. Each has a key that goes there.
const places = [
  ['pool', 'Pool', 'p', Pool], ['tasks', 'Tasks', 't', Tasks, Task], ['queue', 'Queue', 'q', Queue], ['services', 'Services', 's', Services, Service],
  ['hosts', 'Hosts', 'h', Hosts, Host], ['images', 'Images', 'i', Images, Image], ['events', 'Events', 'e', Events], ['usage', 'Usage', 'u', Usage], ['search', 'Search', '/', Search],
]

const decode = text => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text // a link that was cut off
  }
}

const parse = () => {
  const [name, id] = location.hash.replace(/^#\//, '').split('/').map(decode)
  return { name: places.some(p => p[0] === name) ? name : 'pool', id }
}

// themes are the colours: those of the system until the user chooses.
const themes = ['', 'dark', 'light']

function useTheme() {
  const [theme, set] = useState(localStorage.getItem('theme') || '')
  useEffect(() => {
    document.documentElement.dataset.theme = theme
    localStorage.setItem('theme', theme)
  }, [theme])
  return [theme, () => set(themes[(themes.indexOf(theme) + 1) % themes.length])]
}

// Me is who is signed in, and with what.
const Me = ({ me, session: { keyID, person, ends } }) => html`
  <span class="me" title=${me.arn}>${person || me.name || keyID.slice(0, 8)} (${me.role})${person && `, until ${clock(ends / 1000)}`}</span>`

function Console({ store, enter, leave }) {
  useStore(store)
  const [place, go] = useState(parse())
  const [words, find] = useState('')
  const [theme, turn] = useTheme()
  const [helps, help] = useState(false)
  const filter = useRef()
  const keys = [...places.map(([name, title, key]) => [key, title, () => { location.hash = '#/' + name }]), ['f', 'Filter the list that is shown', () => filter.current.focus()], ['?', 'These keys', () => help(true)]]
  useKeys(Object.fromEntries(keys.map(([key, , does]) => [key, does])))
  useEffect(() => {
    const moved = () => {
      go(parse())
      find('')
      scrollTo(0, 0)
      document.getElementById('main').focus({ preventScroll: true }) // or it stays with what is gone
    }
    addEventListener('hashchange', moved)
    return () => removeEventListener('hashchange', moved)
  }, [])
  if (store.refused) return html`<${SignIn} enter=${session => { store.stop(); enter(session) }} reason=${store.refused} />`
  const [name, title, , List, One] = places.find(p => p[0] === place.name)
  const View = place.id && One ? One : List
  document.title = (place.id ? place.id.slice(0, 12) + ' - ' : '') + title + ' - Pinion'
  return html`
    <header>
      <a class="skip" href="#main" onClick=${e => { e.preventDefault(); document.getElementById('main').focus() }}>To the content</a>
      <a class="brand" href="#/pool">Pinion</a>
      <nav aria-label="Views">${places.map(([n, text, key]) => html`<a href=${'#/' + n} aria-current=${n === name ? 'page' : undefined} title=${`${text} (${key})`}>${text}</a>`)}</nav>
      <input type="search" ref=${filter} value=${words} placeholder="Filter (f)" aria-label="Filter the list" onInput=${e => find(e.target.value)} />
      <button onClick=${() => help(true)} aria-label="Keys">?</button>
      <button onClick=${turn} title="Colours" aria-label=${'Colours: ' + (theme || 'those of the system')}>${theme === 'dark' ? '◐' : theme === 'light' ? '◑' : '◒'}</button>
      ${store.me && html`<${Me} me=${store.me} session=${store.client.session} />`}
      <button onClick=${leave}>Sign out</button>
    </header>
    ${!store.connected && html`<p class="problem banner" role="status">${store.ready ? 'What is shown may be old: ' + store.problem : store.problem || 'Reading the pool ...'}</p>`}
    <main id="main" tabindex="-1">${store.ready && html`<${View} key=${place.name + (place.id || '')} store=${store} id=${place.id} search=${words} />`}</main>
    <footer><a href="/ui/licences.txt">Licences</a></footer>
    ${helps && html`<${Help} keys=${keys} close=${() => help(false)} />`}`
}

// endKey ends the key of a person who signs out: it was made for this session.
async function endKey(client) {
  try {
    await client.post('/v1/logout')
  } catch (problem) {
    if (!unknown.includes(problem.kind)) throw new Error(`You are signed out here. Your key lives until ${clock(client.session.ends / 1000)}, for the pool could not be asked to end it: ${problem.message}`)
  }
}

function App() {
  const [state, set] = useState({})
  const enter = session => {
    const store = new Store(new Client(session))
    store.run()
    set({ store })
  }
  const store = useRef()
  store.current = state.store
  const leave = async () => {
    const { client } = store.current
    store.current.stop()
    await end()
    set({ left: true })
    if (client.session.person) endKey(client).catch(problem => store.current || set({ left: true, problem }))
  }
  useEffect(() => {
    whenLeft(() => {
      if (store.current) store.current.stop()
      set({ left: true })
    })
    setClock().then(current).then(session => session ? enter(session) : set({ left: true }), problem => set({ left: true, problem }))
  }, [])
  if (state.store) return html`<${Console} store=${state.store} enter=${enter} leave=${leave} />`
  return state.left && html`<${SignIn} enter=${enter} reason=${state.problem} />`
}

render(html`<${App} />`, document.getElementById('page'))
