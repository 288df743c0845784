// Signing in: with an access key, or at the issuer of the pool. The host asks the issuer (RFC 8628, the device flow), and the person opens the issuer's
// page, so neither this page nor the issuer has to know the other.
import { useEffect, useRef, useState } from 'preact/hooks'
import { anonymous, Client, Refused, setClock, sleep } from './api.js'
import { html, Problem } from './parts.js'
import { keep, make } from './session.js'

// page is an address, if a browser opens it as a page and in no other way; the host has looked at it before.
function page(text) {
  try {
    const address = new URL(text)
    return /^https?:$/.test(address.protocol) ? address : undefined
  } catch {
    return undefined
  }
}

// waitForToken waits until the person has signed in at the issuer, and returns the ID token; undefined when the signal ends it before.
async function waitForToken(login, signal) {
  const ends = Date.now() + login.expiresIn * 1000
  for (let wait = login.interval; ;) {
    await sleep(wait * 1000, signal)
    if (signal.aborted) return undefined
    if (Date.now() > ends) throw new Error('Nobody has signed in with the code in time.')
    try {
      const answer = await anonymous.post('/v1/login/device/token', { id: login.id })
      if (answer.idToken) return answer.idToken
      wait = answer.interval
    } catch (problem) {
      if (problem instanceof Refused && problem.status < 500) throw problem // or the host, or the issuer, is away for a while
    }
  }
}

// sessionOf is the session of an ID token, with the rights of these groups of the person; of all when none is named.
async function sessionOf(idToken, groups) {
  const key = await anonymous.post('/v1/login', { idToken, groups })
  await setClock()
  return make(key.accessKeyId, key.secretAccessKey, key.login)
}

// AtIssuer signs in at the issuer of the pool.
function AtIssuer({ host, enter }) {
  const [state, set] = useState({})
  const running = useRef()
  const stop = () => running.current && running.current.abort()
  useEffect(() => stop, [])
  // attempt does something until it is cancelled or the page shows something else.
  const attempt = async act => {
    stop()
    const { signal } = running.current = new AbortController()
    set({ busy: true })
    try {
      const session = await act(signal)
      if (signal.aborted) return
      await keep(session)
      enter(session)
    } catch (problem) {
      if (!signal.aborted) set({ problem })
    }
  }
  const choose = (idToken, groups, signal) => sessionOf(idToken, groups).catch(problem => {
    if (!problem.groups || signal.aborted) throw problem
    return new Promise((resolve, reject) => set({ groups: problem.groups, take: group => { set({ busy: true }); sessionOf(idToken, [group]).then(resolve, reject) } }))
  })
  const begin = () => attempt(async signal => {
    const login = await anonymous.post('/v1/login/device', {})
    const address = page(login.completeUrl || login.url)
    if (!address) throw new Error('The issuer names no page to sign in at.')
    if (!signal.aborted) set({ code: login.code, address })
    const idToken = await waitForToken(login, signal)
    return idToken && choose(idToken, [], signal)
  })
  const cancel = () => { stop(); set({}) }
  return html`
    <section aria-label=${'Sign in at ' + host}>
      ${!state.code && !state.groups && html`<button class="primary" disabled=${state.busy} onClick=${begin}>Sign in at ${host}</button>`}
      ${state.code && html`
        <p><a href=${state.address.href} target="_blank" rel="noopener noreferrer">Open ${state.address.host}</a>, which asks for this code or shows it:</p>
        <p class="device-code" role="status">${state.code}</p>
        <p class="hint">This page goes on by itself once you have signed in there.</p>`}
      ${state.groups && html`
        <p>Your groups give different rights, and a key has those of one. Sign in with the rights of:</p>
        ${state.groups.map(group => html`<button onClick=${() => state.take(group)}>${group}</button>`)}`}
      ${(state.code || state.groups) && html`<button onClick=${cancel}>Cancel</button>`}
      <${Problem} of=${state.problem} />
    </section>`
}

// WithKey signs in with an access key.
function WithKey({ enter, reason }) {
  const [state, set] = useState({})
  const submit = async event => {
    event.preventDefault()
    const form = new FormData(event.target)
    set({ busy: true })
    try {
      await setClock()
      const session = await make(form.get('key').trim(), form.get('secret').trim())
      await new Client(session).get('/v1/whoami')
      await keep(session)
      enter(session)
    } catch (problem) {
      set({ problem })
    }
  }
  return html`
    <form onSubmit=${submit}>
      <label>Access key ID<input name="key" autocomplete="username" spellcheck=${false} required autofocus /></label>
      <label>Secret access key<input name="secret" type="password" autocomplete="current-password" required /></label>
      <${Problem} of=${state.problem || reason} />
      <button class="primary" disabled=${state.busy}>Sign in</button>
    </form>`
}

export function SignIn({ enter, reason }) {
  const [host, offer] = useState()
  useEffect(() => {
    anonymous.get('/v1/login/device').then(({ issuer }) => offer((page(issuer) || {}).host), () => { /* signing in with a key says what is wrong */ })
  }, [])
  return html`
    <main class="signin">
      <h1>Pinion</h1>
      ${host && html`<${AtIssuer} host=${host} enter=${enter} />`}
      <${WithKey} enter=${enter} reason=${reason} />
      <p class="hint">A key is made on a host, as root: <code>pinion key create --role read --name me</code>. The secret is not sent and not kept: it becomes keys that sign requests for twelve hours.
        ${host && html` Who signs in at ${host} gets a key with the rights of their groups for some hours; signing out ends it.`}</p>
    </main>`
}
