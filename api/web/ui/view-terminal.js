// A terminal in a container of a task: what `pinion exec -it TASK -- sh` opens.
import { useEffect, useRef, useState } from 'preact/hooks'
import { run } from './exec.js'
import { shortID } from './format.js'
import { Problem, html, lacks, word } from './parts.js'

const command = ['sh']
const maxEarly = 4 << 10 // bytes that are typed before the command can take them, and kept for it

// load loads the terminal, which is larger than the rest of the page.
const load = () => import('./terminal.js').catch(() => { throw new Error('The host does not have the terminal of this page any more, or does not answer: load the page anew.') })

// refusalOf is why the user can have no terminal in a task. Where it is empty the host may know of something else, which it says then.
export function refusalOf(store, task) {
  const lacking = lacks(store, 'submit')
  if (lacking) return lacking
  if (!task.enableExecuteCommand && store.me.role !== 'admin') return 'This task was run without enableExecuteCommand: a key of the role admin may run commands in it.'
  return ''
}

// converse runs a shell on a terminal in an element until the shell or signal ends. told is called with what becomes of it.
async function converse(store, id, container, element, { leave, told, signal }) {
  let terminal, session
  const early = []
  const input = bytes => {
    if (session) session.input(bytes)
    else if (early.length + bytes.length <= maxEarly) early.push(...bytes)
  }
  try {
    const { make } = await load()
    signal.throwIfAborted()
    terminal = make(element, { input, resized: size => session && session.size(size), leave })
    signal.addEventListener('abort', terminal.end)
    terminal.focus()
    const opened = link => {
      session = link
      session.size(terminal.size()) // which may have changed
      session.input(Uint8Array.from(early))
      told({ text: 'Waiting for the shell ...' })
    }
    const begun = () => told({ text: 'Connected.' })
    const { exitCode, error } = await run(store.client, id, { container, command, tty: true, size: terminal.size() }, { opened, begun, output: terminal.write, signal })
    if (error) throw new Error(`The host has ended the command: ${error}.`)
    told({ over: true, text: `The command has ended with exit code ${exitCode}.` })
  } catch (problem) {
    told({ over: true, problem })
  }
  if (terminal && !signal.aborted) terminal.stop()
}

// Terminal is a terminal that is open until close is called. A session that has ended can be begun anew.
export function Terminal({ store, id, container, close }) {
  const screen = useRef(), closing = useRef()
  const [session, begin] = useState(0)
  const [state, set] = useState({})
  useEffect(() => {
    const stop = new AbortController()
    set({ text: 'Connecting ...' })
    converse(store, id, container, screen.current, { leave: () => closing.current.focus(), told: state => stop.signal.aborted || set(state), signal: stop.signal })
    return () => stop.abort()
  }, [session, container])
  return html`
    <section class=${state.over ? 'terminal' : 'terminal open'} aria-label=${'Terminal in ' + container}>
      <h2>Terminal in ${container}</h2>
      <div class="screen" ref=${screen}></div>
      <p role="status">${state.text}</p><${Problem} of=${state.problem} />
      <div class="choices">
        <button ref=${closing} onClick=${close}>Close terminal</button>
        <button disabled=${!state.over} onClick=${() => begin(session + 1)}>Begin anew</button>
        <span class="hint" id="terminal-keys">Ctrl+. leaves the terminal, Ctrl+Shift+V pastes. The same by command: <code>pinion exec -it --container ${word(container)} ${shortID(id)} -- ${command.join(' ')}</code></span>
      </div>
    </section>`
}

// Terminals are the buttons that open terminals in the containers of a task.
export function Terminals({ store, task, open }) {
  const running = (task.containers || []).filter(c => c.name && c.lastStatus === 'RUNNING')
  const refusal = refusalOf(store, task)
  return running.map(c => html`<button key=${c.name} disabled=${refusal} title=${refusal} onClick=${() => open(c.name)}>${running.length > 1 ? 'Terminal in ' + c.name : 'Terminal'}</button>`)
}
