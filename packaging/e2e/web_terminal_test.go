package e2e

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// button selects a button by its text.
func button(text string) string { return `//button[text()="` + text + `"]` }

// types types a line into the terminal, and waits until the terminal shows something.
func (p *page) types(line, shows string) {
	p.Helper()
	enter := input.DispatchKeyEvent(input.KeyDown).WithKey("Enter").WithCode("Enter").WithWindowsVirtualKeyCode(13)
	p.do(chromedp.Focus(".screen textarea"), input.InsertText(line), enter, input.DispatchKeyEvent(input.KeyUp).WithKey("Enter").WithCode("Enter").WithWindowsVirtualKeyCode(13))
	p.shows(shows)
}

// shows waits until the terminal shows a text.
func (p *page) shows(text string) {
	p.Helper()
	p.waits("document.querySelector('.xterm-rows').textContent.replaceAll('\\u00a0', ' ').includes(" + quoted(text) + ")")
}

// begins begins a session by a button, and waits until it is there.
func (p *page) begins(by string) {
	p.Helper()
	p.do(chromedp.WaitEnabled(button(by)), chromedp.Click(button(by)))
	p.sees("Connected.")
}

// keepSockets has the page keep its sockets, and the kinds of the messages that it sends, where a test finds them.
const keepSockets = `window.sockets = []; window.kinds = new Set(); window.WebSocket = class extends WebSocket {
	constructor(...a) { super(...a); sockets.push(this) }
	send(message) { kinds.add(message[0]); super.send(message) }
}`

// holdSockets has the page learn that its socket is open when opens() is called, and has the socket send what it was given when release() is.
const holdSockets = `window.WebSocket = class extends WebSocket {
	set onopen(f) { super.onopen = () => { window.opens = f } }
	send(message) { const free = window.release; window.release = () => { free?.(); super.send(message) } }
}`

// slowScreen has the terminal be slow to show what it is given, until hurry() is called.
const slowScreen = `{ const soon = setTimeout; window.setTimeout = (f, ms, ...a) => soon(f, ms || 5000, ...a); window.hurry = () => { window.setTimeout = soon } }`

// opensATask opens the page at a running task, where its user may run commands.
func opensATask(t *testing.T, scripts string) (h *host, p *page, task string) {
	t.Helper()
	h = sharedHost(t)
	task = h.runForExec(t, "terminal")
	p = open(t, h)
	id, secret := h.makeKey(t, "submit")
	p.signIn(id, secret)
	p.waits("location.hash === '' && document.querySelector('.cells')")
	p.visit("#/tasks/" + task)
	p.do(chromedp.Evaluate(scripts, nil))
	return h, p, task
}

// A terminal on the page is what `pinion exec -it TASK -- sh` is: with its sizes, what is pasted, all of its output, and its exit code.
func TestTheTerminalOfTheWebPage(t *testing.T) {
	h, p, task := opensATask(t, keepSockets)
	if p.holds("performance.getEntriesByType('resource').some(e => e.name.includes('/terminal-'))") {
		t.Error("the terminal is loaded before one is opened")
	}
	p.begins("Terminal")

	p.types("echo said-$((6*7))", "said-42")
	p.checkContrast("terminal")
	p.do(chromedp.Evaluate("document.querySelector('.screen').style.height = '200px'", nil))
	p.waits("document.querySelectorAll('.xterm-rows > div').length < 14")
	p.types("clear; echo $(stty size | cut -d' ' -f1)-rows", "-rows")
	p.waits("document.querySelector('.xterm-rows').textContent.includes(document.querySelectorAll('.xterm-rows > div').length + '-rows')")
	p.do(chromedp.Evaluate(`{ const d = new DataTransfer(); d.setData('text/plain', 'echo pasted-$((6*7))\n'); document.querySelector('.screen textarea').dispatchEvent(new ClipboardEvent('paste', {clipboardData: d, bubbles: true})) }`, nil))
	p.shows("pasted-42")
	p.do(chromedp.Evaluate(slowScreen, nil))
	p.types("yes 0123456789 | head -n 300000; clear; echo flooded-$((6*7))", "")
	p.waits("kinds.has(4)") // the output is held back
	p.do(chromedp.Evaluate("hurry()", nil))
	p.shows("flooded-42")
	p.do(chromedp.KeyEvent(".", chromedp.KeyModifiers(input.ModifierCtrl)))
	p.waits("document.activeElement.textContent === 'Close terminal'")
	p.do(chromedp.KeyEvent("s"), chromedp.Evaluate("document.activeElement.blur()", nil), chromedp.KeyEvent("p"))
	if !p.holds("location.hash.endsWith(" + quoted(task) + ")") {
		t.Error("a key of one letter leaves the view, and ends the shell")
	}
	p.do(chromedp.Focus(".screen textarea"), chromedp.KeyEvent("d", chromedp.KeyModifiers(input.ModifierCtrl)))
	p.sees("exit code 0")
	p.do(chromedp.Evaluate("document.activeElement.blur()", nil), chromedp.KeyEvent("?"), chromedp.WaitVisible("dialog[open]"), chromedp.Click("dialog button.primary"))

	p.begins("Begin anew")
	p.types("exit 3", "exit 3")
	p.sees("exit code 3")
	p.begins("Begin anew")
	p.types("echo again-$((6*7))", "again-42")
	p.do(chromedp.Evaluate("sockets.at(-1).close()", nil))
	p.waits("document.querySelector('.terminal [role=alert]')")
	p.begins("Begin anew")
	p.types("echo anew-$((6*7))", "anew-42")
	before := strings.Count(h.pinion(t, "audit", "-o", "json"), "exec session ends")
	p.visit("#/tasks")
	eventually(t, "the command ends with its terminal", func() bool {
		return strings.Count(h.pinion(t, "audit", "-o", "json"), "exec session ends") > before
	})
}

// The page says that there is a shell when there is one, and what is typed before is for it.
func TestATerminalOfTheWebPageThatIsSlow(t *testing.T) {
	_, p, _ := opensATask(t, holdSockets)
	p.do(chromedp.WaitEnabled(button("Terminal")), chromedp.Click(button("Terminal")), chromedp.WaitVisible(".screen textarea"))
	p.waits("window.opens")
	p.types("echo early-$((6*7))", "")
	p.do(chromedp.Evaluate("opens()", nil))
	p.sees("Waiting for the shell")
	p.do(chromedp.Evaluate("release()", nil))
	p.sees("Connected.")
	p.shows("early-42")
}

// What a command writes is shown: it makes no link, and reaches neither the clipboard nor the page.
func TestWhatACommandWritesOnTheWebPage(t *testing.T) {
	_, p, _ := opensATask(t, `window.confirm = window.open = navigator.clipboard.readText = navigator.clipboard.writeText = async () => { window.hacked = 1 }`)
	p.begins("Terminal")
	p.types(`clear; printf '\033]8;;https://evil.example/\033\\linked\033]8;;\033\\ \033]0;title\007\033]52;c;aGFja2Vk\007\033]52;c;?\007 `+strings.ReplaceAll(hostile, `"`, `\"`)+` shown-%d\n' 42`, "shown-42")
	var at []float64
	p.do(chromedp.Evaluate(`(r => [r.left + 10, r.top + r.height / 2])([...document.querySelectorAll('.xterm-rows > div')].find(row => row.textContent.startsWith('linked')).getBoundingClientRect())`, &at))
	p.do(chromedp.MouseEvent(input.MouseMoved, at[0], at[1]), chromedp.MouseClickXY(at[0], at[1]))
	if p.holds("document.querySelector('.xterm-rows [class*=underline], .xterm-cursor-pointer')") {
		t.Error("it makes a link")
	}
	if p.holds("window.hacked || document.title === 'title'") {
		t.Error("it does something to the page")
	}
}

// Who may not run commands in a task is told so, and by whom they may be run.
func TestWhoHasNoTerminal(t *testing.T) {
	h := sharedHost(t)
	task := h.runForExec(t, "terminal")
	h.registerShell(t, "closed", 0, "trap exit TERM; sleep 3600 & wait")
	closed := lastPart(h.mustCall(t, "RunTask", object{"taskDefinition": "closed"}).text("tasks", 0, "taskArn"))
	t.Cleanup(func() { h.pinion(t, "stop", "--force", closed) })
	h.waitStatus(t, closed, "RUNNING")
	for _, c := range []struct {
		role, task, because string
	}{{"read", task, "role submit"}, {"submit", closed, "enableExecuteCommand"}, {"submit", task, ""}, {"admin", closed, ""}} {
		p := open(t, h)
		id, secret := h.makeKey(t, c.role)
		p.signIn(id, secret)
		p.visit("#/tasks/" + c.task)
		p.do(chromedp.WaitVisible(button("Terminal")))
		if !p.holds(`(b => b.disabled === (` + quoted(c.because) + ` !== '') && b.title.includes(` + quoted(c.because) + `))([...document.querySelectorAll('button')].find(b => b.textContent === 'Terminal'))`) {
			t.Errorf("a key of the role %s", c.role)
		}
	}
}
