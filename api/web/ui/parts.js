// What all views are made of.
import { h } from 'preact'
import { useEffect, useReducer, useRef, useState } from 'preact/hooks'
import htm from 'htm'

export const html = htm.bind(h)

// useStore has a view drawn anew when what is known of the pool changes.
export function useStore(store) {
  const [, draw] = useReducer(n => n + 1, 0)
  useEffect(() => store.subscribe(draw), [store])
  return store
}

// useAnswer asks once, and again when what it depends on changes. The answer is undefined until it is there.
export function useAnswer(ask, on) {
  const [answer, set] = useState({})
  useEffect(() => {
    let over = false
    ask().then(value => over || set({ value }), problem => over || set({ problem }))
    return () => { over = true }
  }, on)
  return answer
}

const rows = 200 // of a table at first: a browser draws some hundreds at once, not thousands

// Table shows items. columns are [head, cell(item), class]; link is where a row leads, keyOf what tells rows apart.
export function Table({ items, columns, link, keyOf = link, empty = 'Nothing.' }) {
  const [shown, show] = useState(rows)
  if (!items.length) return html`<p class="empty">${empty}</p>`
  return html`
    <div class="scroll"><table>
      <thead><tr>${columns.map(([head, , kind]) => html`<th scope="col" class=${kind === 'number' ? kind : undefined}>${head}</th>`)}</tr></thead>
      <tbody>${items.slice(0, shown).map(item => html`
        <tr key=${keyOf ? keyOf(item) : undefined}>${columns.map(([, cell, kind], i) => html`
          <td class=${kind}>${link && i === 0 ? html`<a href=${link(item)}>${cell(item)}</a>` : cell(item)}</td>`)}
        </tr>`)}
      </tbody>
    </table></div>
    ${items.length > shown && html`<button onClick=${() => show(shown + 5 * rows)}>Show more: ${items.length - shown} are left</button>`}`
}

// Status is a status in its colour. The word says it too.
export function Status({ is }) {
  const kind = {
    RUNNING: 'good', ACTIVE: 'good', HEALTHY: 'good', COMPLETED: 'good', OK: 'good', ok: 'good',
    PROVISIONING: 'wait', PENDING: 'wait', ACTIVATING: 'wait', IN_PROGRESS: 'wait', DRAINING: 'wait', DEPROVISIONING: 'wait', STOPPING: 'wait', DEACTIVATING: 'wait', SUSPECT: 'wait', QUARANTINED: 'wait', warning: 'wait',
    FAILED: 'bad', LOST: 'bad', DOWN: 'bad', UNHEALTHY: 'bad', NEEDS_RESET: 'bad', NEEDS_REBOOT: 'bad', REPLACE: 'bad', failed: 'bad',
  }[is] || 'plain'
  return html`<span class=${'status ' + kind}>${is}</span>`
}

// Problem is an error of the API.
export const Problem = ({ of }) => of ? html`<p class="problem" role="alert">${of.message}</p>` : null

// Facts are names and values.
export const Facts = ({ of }) => html`<dl>${of.filter(([, value]) => value !== undefined && value !== '' && value !== null).map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`

// Ask asks before something is done, with the commands that do the same.
export function Ask({ title, text, commands, act, close }) {
  const dialog = useRef()
  const [state, set] = useState({})
  useEffect(() => dialog.current.showModal(), [])
  const go = async event => {
    event.preventDefault()
    set({ busy: true })
    try {
      await act()
      dialog.current.close() // which gives the focus back
    } catch (problem) {
      set({ problem })
    }
  }
  return html`
    <dialog ref=${dialog} onClose=${close} aria-labelledby="ask">
      <form onSubmit=${go}>
        <h2 id="ask">${title}</h2>
        <p>${text}</p>
        <p class="hint">The same by command:</p>
        <pre>${commands.join('\n')}</pre>
        <${Problem} of=${state.problem} />
        <div class="buttons">
          <button type="button" onClick=${() => dialog.current.close()}>Cancel</button>
          <button class="primary" disabled=${state.busy}>${title}</button>
        </div>
      </form>
    </dialog>`
}

const roles = ['read', 'submit', 'admin']

// lacks is why the user's key may not do what a role may; empty: it may.
export const lacks = (store, role) => roles.indexOf(store.me.role) >= roles.indexOf(role) ? '' : `Your key has the role ${store.me.role}, and this needs the role ${role}.`

// Action is a button that asks before it acts. A key without the role may not, and the button says so.
export function Action({ store, role, title, text, commands, act }) {
  const [asks, ask] = useState(false)
  const refusal = lacks(store, role)
  return html`
    <button disabled=${refusal} title=${refusal} onClick=${() => ask(true)}>${title}</button>
    ${asks && html`<${Ask} title=${title} text=${text} commands=${commands} act=${act} close=${() => ask(false)} />`}`
}

// word is a word of a command line, as a shell takes it: names are hosts' and users' words.
export const word = text => /^[\w.:/@=-]+$/.test(text) ? text : "'" + String(text).replaceAll("'", "'\\''") + "'"
