// Keys of one letter, which go to places. They can be switched off: what speech input or a tremor writes by accident would be one.
import { useEffect, useRef, useState } from 'preact/hooks'
import { html } from './parts.js'

const setting = 'keys' // in the browser's storage; "off": they are off

const areOn = () => localStorage.getItem(setting) !== 'off'

const written = target => /^(input|textarea|select)$/i.test(target.tagName)

// useKeys calls what a key does, where no text is written, and no dialogue or terminal is open: leaving a terminal's view ends its command.
export function useKeys(does) {
  const latest = useRef()
  latest.current = does
  useEffect(() => {
    const press = event => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || written(event.target) || document.querySelector('dialog[open], .terminal.open') || !areOn()) return
      if (!Object.hasOwn(latest.current, event.key)) return
      event.preventDefault()
      latest.current[event.key]()
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [])
}

// Help is a dialogue with the keys, and the switch for them.
export function Help({ keys, close }) {
  const dialog = useRef()
  const [on, set] = useState(areOn())
  useEffect(() => dialog.current.showModal(), [])
  const turn = event => {
    set(event.target.checked)
    localStorage.setItem(setting, event.target.checked ? 'on' : 'off')
  }
  return html`
    <dialog ref=${dialog} onClose=${close} aria-labelledby="help">
      <h2 id="help">Keys</h2>
      <dl class="keys">${keys.map(([key, text]) => html`<dt><kbd>${key}</kbd></dt><dd>${text}</dd>`)}</dl>
      <label><input type="checkbox" checked=${on} onChange=${turn} /> Keys of one letter or sign go to places</label>
      <p class="hint">Everything can be reached by Tab, too. In a terminal Ctrl+. leaves it.</p>
      <div class="buttons"><button class="primary" onClick=${() => dialog.current.close()}>Close</button></div>
    </dialog>`
}
