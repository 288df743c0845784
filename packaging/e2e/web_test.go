package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// makeKey makes an access key of a role.
func (h *host) makeKey(t testing.TB, role string) (id, secret string) {
	t.Helper()
	var key struct {
		ID     string `json:"accessKeyId"`
		Secret string `json:"secretAccessKey"`
	}
	if err := json.Unmarshal([]byte(h.pinion(t, "key", "create", "--role", role, "--name", "test-"+role, "-o", "json")), &key); err != nil {
		t.Fatal(err)
	}
	return key.ID, key.Secret
}

// hostile is a text that does something where it is taken for markup.
const hostile = `<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>`

// One signs in with a key, sees the pool as it is and as it changes, and may do what the key may.
func TestTheWebPage(t *testing.T) {
	h := up(t, "--gpus", "sim:8xh100")
	p := open(t, h)
	id, secret := h.makeKey(t, "read")

	p.signIn(id, "wrong-"+secret)
	p.waits("document.querySelector('[role=alert]')")
	p.checkContrast("sign-in")
	p.checkBut("status of 403", "status of 400")
	p.signIn(id, secret)
	p.waits("document.querySelectorAll('.cells .cell.free').length === 8")

	h.pinion(t, "run", "-d", "--gpus", "2", "--name", "train", "pinion/self", "--", "pinion", "pause")
	p.waits("document.querySelectorAll('.cells .cell.taken').length === 2")
	h.pinion(t, "run", "-d", "--gpus", "8", "--name", "big", "pinion/self", "--", "pinion", "pause")
	said := strings.Fields(h.pinion(t, "run", "-d", "--name", "says", "pinion/self", "--", "pinion", "--"+hostile))[0]
	h.pinion(t, "run", "--service", "web", "--count", "2", "-p", "8080", "pinion/self", "--", "pinion", "hello")
	p.checkContrast("pool")

	p.do(chromedp.KeyEvent("t"))
	p.sees("run-train:1")
	p.sees("service-web:1")
	p.checkContrast("tasks")
	p.visit("#/tasks/" + said)
	p.sees("onerror")
	if p.holds("window.hacked") {
		t.Error("a line of a log was taken for markup")
	}
	p.checkContrast("task")
	p.do(chromedp.KeyEvent("q"))
	p.sees("run-big:1")
	p.checkContrast("queue")
	p.do(chromedp.KeyEvent("s"))
	p.sees("2 of 2")
	p.do(chromedp.Click("tbody a"))
	p.sees("has reached a steady state")
	p.checkContrast("service")
	p.do(chromedp.KeyEvent("h"))
	p.sees("leader")
	p.checkContrast("hosts")
	p.do(chromedp.Click("tbody a"))
	p.sees("8 GPUs")
	p.checkContrast("host")
	if !p.holds("[...document.querySelectorAll('.choices button')].every(b => b.disabled && b.title)") {
		t.Error("a key that may only read is offered to drain a host")
	}
	p.do(chromedp.KeyEvent("e"))
	p.sees("run-big:1")
	p.checkContrast("events")
	p.do(chromedp.KeyEvent("u"))
	p.sees("GPU hours by team")
	p.checkContrast("usage")

	p.do(chromedp.Reload())
	p.sees("GPU hours by team") // the session outlives the page
	p.do(chromedp.Evaluate("[...document.querySelectorAll('header button')].pop().click()", nil))
	p.do(chromedp.WaitVisible("input[name=key]"), chromedp.Reload(), chromedp.WaitVisible("input[name=key]"))
}

// An administrator's key stops tasks and drains hosts, after a question that shows the commands. A key that is removed ends the session.
func TestActionsOfTheWebPage(t *testing.T) {
	h := up(t, "--gpus", "sim:2xh100")
	task := strings.Fields(h.pinion(t, "run", "-d", "--gpus", "1", "--name", "train", "pinion/self", "--", "pinion", "pause"))[0]
	h.waitStatus(t, task, "RUNNING")
	p := open(t, h)
	id, secret := h.makeKey(t, "admin")
	p.signIn(id, secret)
	p.waits("document.querySelectorAll('.cells .cell').length === 2")
	p.visit("#/tasks/" + task)
	p.do(chromedp.WaitEnabled(".choices button"), chromedp.Click(".choices button"))
	p.sees("aws ecs stop-task --cluster default --task " + task)
	p.checkContrast("ask")
	p.do(chromedp.Click("dialog button.primary"))
	p.sees("stopped on the web page")
	h.waitStatus(t, task, "STOPPED")

	p.do(chromedp.KeyEvent("h"))
	p.do(chromedp.WaitVisible("tbody a"), chromedp.Click("tbody a"), chromedp.WaitEnabled(".choices button"), chromedp.Click(".choices button"), chromedp.WaitVisible("dialog button.primary"), chromedp.Click("dialog button.primary"))
	p.sees("Activate host")
	h.pinion(t, "key", "rm", id)
	p.do(chromedp.WaitVisible("input[name=key]"))
	p.sees("access key") // why
	p.checkBut("status of 403", "status of 400", "ERR_")
}
