// The terminal itself, loaded when the first one is opened.
import { FitAddon } from '@xterm/addon-fit'
import { Terminal } from '@xterm/xterm'

// A style-sheet element stands for a style element, which the page's content security policy refuses (api/web/build/css.go).
customElements.define('style-sheet', class extends HTMLElement {
  #sheet = new CSSStyleSheet()
  set textContent(text) { this.#sheet.replaceSync(text) }
  connectedCallback() { document.adoptedStyleSheets = [...document.adoptedStyleSheets, this.#sheet] }
  disconnectedCallback() { document.adoptedStyleSheets = document.adoptedStyleSheets.filter(sheet => sheet !== this.#sheet) }
})

const encoder = new TextEncoder()

// make makes a terminal in an element, which it fills. input is called with what its user types, resized with its size, leave when the focus is to
// leave it: a terminal takes every other key. What runs in it may neither open addresses nor read the clipboard.
export function make(element, { input, resized, leave }) {
  const colours = getComputedStyle(element)
  const terminal = new Terminal({
    fontFamily: colours.fontFamily, fontSize: 13, scrollback: 5000, minimumContrastRatio: 4.5,
    theme: { background: colours.backgroundColor, foreground: colours.color, cursor: colours.color, selectionBackground: '#7aa7d966' },
  })
  terminal.parser.registerOscHandler(8, () => true) // no links: the terminal keeps the address of each, which may be of 10 MB
  const fit = new FitAddon()
  terminal.loadAddon(fit)
  terminal.open(element)
  fit.fit()
  terminal.textarea.setAttribute('aria-describedby', 'terminal-keys')
  terminal.attachCustomKeyEventHandler(event => {
    if (event.ctrlKey && event.key === '.') {
      if (event.type === 'keydown') leave()
      return false
    }
    return !(event.ctrlKey && !event.shiftKey && event.key === 'c' && terminal.hasSelection()) // the browser copies
  })
  terminal.onData(text => input(encoder.encode(text)))
  terminal.onBinary(text => input(Uint8Array.from(text, c => c.charCodeAt(0))))
  terminal.onResize(({ cols, rows }) => resized({ columns: cols, rows }))
  const watch = new ResizeObserver(() => fit.fit())
  watch.observe(element)
  return {
    size: () => ({ columns: terminal.cols, rows: terminal.rows }),
    focus: () => terminal.focus(),
    write: (output, shown) => terminal.write(output, shown),
    stop: () => { terminal.options.disableStdin = true },
    end: () => { watch.disconnect(); terminal.dispose() },
  }
}
