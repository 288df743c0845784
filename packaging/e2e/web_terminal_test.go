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

// keepSockets has the page keep its sockets where a test finds them.
const keepSockets = `window.sockets = []; window.WebSocket = class extends WebSocket { constructor(...a) { super(...a); sockets.push(this) } }`

// A terminal on the page is what `pinion exec -it TASK -- sh` is: with its sizes, what is pasted, all of its output, and its exit code.
func TestTheTerminalOfTheWebPage(t *testing.T) {
	h := sharedHost(t)
	task := h.runForExec(t, "terminal")
	p := open(t, h)
	id, secret := h.makeKey(t, "submit")
	p.signIn(id, secret)
	p.waits("location.hash === '' && document.querySelector('.cells')")
	p.visit("#/tasks/" + task)
	p.do(chromedp.Evaluate(keepSockets, nil))
	if p.holds("performance.getEntriesByType('resource').some(e => e.name.includes('/terminal-'))") {
		t.Error("the terminal is loaded before one is opened")
	}
	p.begins("Terminal")

	p.types("echo said-$((6*7))", "said-42")
	p.looks("terminal")
	p.do(chromedp.Evaluate("document.querySelector('.screen').style.height = '200px'", nil))
	p.waits("document.querySelectorAll('.xterm-rows > div').length < 14")
	p.types("clear; echo $(stty size | cut -d' ' -f1)-rows", "-rows")
	p.waits("document.querySelector('.xterm-rows').textContent.includes(document.querySelectorAll('.xterm-rows > div').length + '-rows')")
	p.do(chromedp.Evaluate(`{ const d = new DataTransfer(); d.setData('text/plain', 'echo pasted-$((6*7))\n'); document.querySelector('.screen textarea').dispatchEvent(new ClipboardEvent('paste', {clipboardData: d, bubbles: true})) }`, nil))
	p.shows("pasted-42")
	p.types("yes 0123456789 | head -n 150000; clear; echo flooded-$((6*7))", "flooded-42")
	p.types(`printf '\033]8;;javascript:hacked=1\033\\link\033]8;;\033\\ \033]0;title\007\033]52;c;aGFja2Vk\007 `+strings.ReplaceAll(hostile, `"`, `\"`)+` shown-%d\n' 42`, "shown-42")
	if p.holds("window.hacked || document.title === 'title'") {
		t.Error("what a command writes does something to the page")
	}
	p.do(chromedp.KeyEvent(".", chromedp.KeyModifiers(input.ModifierCtrl)))
	p.waits("document.activeElement.textContent === 'Close terminal'")
	p.do(chromedp.Focus(".screen textarea"), chromedp.KeyEvent("d", chromedp.KeyModifiers(input.ModifierCtrl)))
	p.sees("exit code 0")

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
