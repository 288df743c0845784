package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// One finds everything by its id, name, team or reason with keys alone, and can send the address of a search to others.
func TestTheSearchOfTheWebPage(t *testing.T) {
	h := up(t, "--gpus", "sim:8xh100")
	train := strings.Fields(h.pinion(t, "run", "-d", "--gpus", "2", "--name", "train", "--team", "vision", "pinion/self", "--", "pinion", "pause"))[0]
	big := strings.Fields(h.pinion(t, "run", "-d", "--gpus", "8", "--name", "big", "pinion/self", "--", "pinion", "pause"))[0]
	h.pinion(t, "run", "-d", "--gpu-alternatives", "H200:1/H100:7", "--name", "either", "pinion/self", "--", "pinion", "pause")
	h.waitStatus(t, train, "RUNNING")
	p := open(t, h)
	id, secret := h.makeKey(t, "read")
	p.signIn(id, secret)
	p.waits("document.querySelectorAll('.cells .cell.taken').length === 2")
	p.visit("#/tasks")
	p.waits("document.body.innerText.includes('(H200:1/H100:7)')") // of a task that waits, all that will do
	p.visit("#/queue")
	p.waits("document.body.innerText.includes('H200:1/H100:7')")
	p.visit("#/")

	p.press("/")
	p.waits("document.activeElement.getAttribute('role') === 'combobox'")
	p.do(chromedp.KeyEvent("train"))
	p.waits("document.querySelector('[aria-selected=true]')")
	p.checkContrast("search")
	p.do(chromedp.KeyEvent(kb.Enter))
	p.waits(fmt.Sprintf("location.hash === '#/tasks/%s'", train))
	for words, want := range map[string]string{
		train[:12]: "#/tasks/" + train, big[20:]: "#/tasks/" + big, "vision running": "#/tasks/" + train, "big capacity": "#/tasks/" + big, "gpu 7": "#/hosts/", "vision h100": "#/hosts/", "leader": "#/hosts/",
	} {
		p.visit("#/search/")
		p.waits("document.querySelector('[role=combobox]')")
		p.visit("#/search/" + strings.ReplaceAll(words, " ", "%20"))
		p.waits(fmt.Sprintf("[...document.querySelectorAll('[role=option]')].some(a => a.getAttribute('href').startsWith(%q))", want))
	}
	p.visit("#/search/gpu")
	p.waits("document.querySelectorAll('[role=option]').length === 8") // those of this search, and not of the last one
	p.do(chromedp.KeyEvent(kb.ArrowUp))                                // from the first to the last
	p.waits("[...document.querySelectorAll('[role=option]')].at(-1).getAttribute('aria-selected') === 'true'")
	if !p.holds("document.activeElement.getAttribute('aria-activedescendant') === document.querySelector('[aria-selected=true]').id") {
		t.Error("what is chosen is not told to those who do not see it")
	}
	p.do(chromedp.KeyEvent(kb.Escape))
	p.waits("location.hash === '#/tasks/" + train + "'") // where one was before all of these searches
}

// Keys of one letter go to places, unless one has switched them off (WCAG 2.1.4).
func TestKeysOfTheWebPage(t *testing.T) {
	h := sharedHost(t)
	h.runForExec(t, "keys") // which brings an image
	p := open(t, h)
	id, secret := h.makeKey(t, "read")
	p.signIn(id, secret)
	p.waits("document.querySelector('nav')")
	for key, fragment := range map[string]string{"t": "tasks", "q": "queue", "s": "services", "h": "hosts", "e": "events", "u": "usage", "i": "images", "p": "pool"} {
		p.do(chromedp.KeyEvent(key))
		p.waits("location.hash === '#/" + fragment + "'")
	}
	p.do(chromedp.KeyEvent("i"))
	p.sees("Kept")
	p.checkContrast("images")
	p.do(chromedp.Click("tbody a"))
	p.sees("sha256:")
	p.do(chromedp.KeyEvent("f"))
	p.waits("document.activeElement.type === 'search'")
	p.do(chromedp.KeyEvent("t"), chromedp.Blur("input[type=search]"), chromedp.KeyEvent("?"), chromedp.WaitVisible("dialog[open] input[type=checkbox]"))
	p.checkContrast("keys")
	p.do(chromedp.KeyEvent("t"))
	if !p.holds("location.hash.startsWith('#/images/')") {
		t.Error("a key goes to a place while text is written, or below a dialogue")
	}
	p.do(chromedp.Click("dialog input[type=checkbox]"), chromedp.Click("dialog button.primary"), chromedp.Reload(), chromedp.WaitVisible("nav"))
	p.do(chromedp.KeyEvent("t"), chromedp.KeyEvent("/"), chromedp.KeyEvent("?"))
	if !p.holds("location.hash.startsWith('#/images/') && !document.querySelector('dialog[open]')") {
		t.Error("keys that are switched off do something")
	}
	p.do(chromedp.Click(`button[aria-label="Keys"]`), chromedp.Click("dialog input[type=checkbox]"), chromedp.Click("dialog button.primary"), chromedp.KeyEvent("t"))
	p.waits("location.hash === '#/tasks'")
}
