package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// page is a web page, that of a host or of the documentation, in a browser of its own.
type page struct {
	testing.TB
	ctx  context.Context
	site string // what the addresses of all requests begin with

	mu       sync.Mutex
	problems []string // what the browser says of the page
	foreign  []string // requests to others than the host
	// interrupted says that the network of the machine changed while something was loaded.
	interrupted bool
}

// open opens the web page of a host in a real browser. At the test's end nothing may have gone wrong in it.
func open(t testing.TB, h *host) *page {
	t.Helper()
	return openAt(t, h.listen)
}

// openAt is open for a server at an address.
func openAt(t testing.TB, address string) *page {
	t.Helper()
	return openURL(t, "https://"+address+"/", "https://"+address+"/ui/")
}

// openURL opens a page in a real browser, which may ask nothing of others than its site.
func openURL(t testing.TB, site, url string) *page {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath("chromium"), chromedp.NoSandbox, chromedp.Flag("disable-dev-shm-usage", true),
		chromedp.Flag("no-proxy-server", true), chromedp.Flag("ignore-certificate-errors", true), chromedp.WindowSize(1400, 900), chromedp.Flag("js-flags", "--expose-gc"), chromedp.Flag("enable-precise-memory-info", true))
	allocated, stop := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stop)
	ctx, closePage := chromedp.NewContext(allocated, chromedp.WithErrorf(func(string, ...any) {})) // events that it does not know
	t.Cleanup(closePage)
	p := &page{TB: t, ctx: ctx, site: site}
	if err := chromedp.Run(ctx); err != nil { // the browser lives as long as the context of the first run
		t.Fatal(err)
	}
	chromedp.ListenTarget(ctx, p.watch)
	p.do(network.Enable(), log.Enable())
	p.load(url)
	t.Cleanup(p.check)
	return p
}

// networkChanged is the browser's error for what it was loading when the network of the machine changed: interfaces of containers come and go.
const networkChanged = "ERR_NETWORK_CHANGED"

// load loads a page with its scripts, again when the network has changed meanwhile: without one of them the page does not begin.
func (p *page) load(url string) {
	p.Helper()
	for range 5 {
		p.mu.Lock()
		p.interrupted = false
		p.mu.Unlock()
		ctx, cancel := context.WithTimeout(p.ctx, waitTimeout)
		err := chromedp.Run(ctx, chromedp.Navigate(url))
		cancel()
		p.mu.Lock()
		interrupted := p.interrupted || err != nil && strings.Contains(err.Error(), networkChanged)
		p.mu.Unlock()
		if interrupted {
			continue
		}
		if err != nil {
			p.Fatal(err)
		}
		return
	}
	p.Fatalf("%s does not load: the network of the machine changes all the time", url)
}

// watch notes what goes wrong.
func (p *page) watch(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		p.problems = append(p.problems, e.ExceptionDetails.Error())
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning {
			said := "console:"
			for _, arg := range e.Args {
				said += fmt.Sprintf(" %s%s", arg.Value, arg.Description)
			}
			p.problems = append(p.problems, said)
		}
	case *log.EventEntryAdded:
		if strings.Contains(e.Entry.Text, networkChanged) {
			p.interrupted = true // the page asks again
		} else if e.Entry.Level == log.LevelError || e.Entry.Level == log.LevelWarning {
			p.problems = append(p.problems, e.Entry.Text+" "+e.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, p.site) && !strings.HasPrefix(e.Request.URL, "data:") {
			p.foreign = append(p.foreign, e.Request.URL)
		}
	}
}

// check fails for what has gone wrong since the last check, but for problems with one of these words.
func (p *page) check() { p.checkBut() }

func (p *page) checkBut(expected ...string) {
	p.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
problems:
	for _, problem := range p.problems {
		for _, word := range expected {
			if strings.Contains(problem, word) {
				continue problems
			}
		}
		p.Errorf("the browser says: %s", problem)
	}
	if len(p.foreign) > 0 {
		p.Errorf("requests to others: %v", p.foreign)
	}
	p.problems = nil
}

// do carries out actions. When one fails the end of the page's text is told.
func (p *page) do(actions ...chromedp.Action) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, waitTimeout)
	defer cancel()
	if err := chromedp.Run(ctx, actions...); err != nil {
		var text string
		_ = chromedp.Run(p.ctx, chromedp.Evaluate("location.hash + ' ' + document.body.innerText", &text))
		p.Fatalf("%v\n%s\n%v", err, text, p.problems)
	}
}

// signIn signs in with an access key.
func (p *page) signIn(id, secret string) {
	p.Helper()
	p.do(chromedp.WaitVisible("input[name=key]"), chromedp.Evaluate("document.querySelector('form').reset()", nil),
		chromedp.SendKeys("input[name=key]", id), chromedp.SendKeys("input[name=secret]", secret), chromedp.Click("form button.primary"))
}

// press presses a key of one character as a keyboard does: it writes nothing where the page handles it. chromedp.KeyEvent writes it all the same.
func (p *page) press(key string) {
	p.Helper()
	p.do(input.DispatchKeyEvent(input.KeyDown).WithKey(key).WithText(key), input.DispatchKeyEvent(input.KeyUp).WithKey(key))
}

// go to a place by its hash.
func (p *page) visit(hash string) {
	p.Helper()
	p.do(chromedp.Evaluate(fmt.Sprintf("location.hash = %q", hash), nil))
}

// sees waits until the page shows a text.
func (p *page) sees(text string) {
	p.Helper()
	p.waits("document.body.innerText.includes(" + quoted(text) + ")")
}

// quoted is a text as JavaScript writes it.
func quoted(text string) string {
	literal, _ := json.Marshal(text)
	return string(literal)
}

// holds evaluates a condition.
func (p *page) holds(condition string) (holds bool) {
	p.Helper()
	p.do(chromedp.Evaluate("Boolean("+condition+")", &holds))
	return holds
}

// resolves evaluates a condition that may be a promise, as if its user had done something.
func (p *page) resolves(condition string) (holds bool) {
	p.Helper()
	p.do(chromedp.Evaluate("Promise.resolve("+condition+").then(Boolean)", &holds, func(e *runtime.EvaluateParams) *runtime.EvaluateParams {
		return e.WithAwaitPromise(true).WithUserGesture(true)
	}))
	return holds
}

// forget forgets what has gone wrong: the test meant it to.
func (p *page) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problems, p.foreign = nil, nil
}

// waits waits until a condition holds.
func (p *page) waits(condition string) {
	p.Helper()
	p.do(chromedp.Poll("Boolean("+condition+")", nil, chromedp.WithPollingTimeout(waitTimeout/4), chromedp.WithPollingInterval(50*time.Millisecond)))
}

// faint lists the texts that stand out too little from what is behind them: by less than 4.5 to 1, as WCAG 2 has it for level AA. What is disabled may.
const faint = `(() => {
	const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true})
	const rgb = color => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1); return canvas.getImageData(0, 0, 1, 1).data }
	const light = color => { const [r, g, b] = [...color].slice(0, 3).map(c => (c /= 255) <= .03928 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b }
	const behind = e => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c[3] === 255) return c } return rgb('white') }
	return [...document.querySelectorAll('body *')].filter(e => e.checkVisibility({visibilityProperty: true}) && !e.disabled && [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())).map(e => {
		const [a, b] = [light(rgb(getComputedStyle(e).color)), light(behind(e))]
		return [(Math.max(a, b) + .05) / (Math.min(a, b) + .05), e.textContent.trim().slice(0, 40)]
	}).filter(([ratio]) => ratio < 4.5).map(([ratio, text]) => ratio.toFixed(1) + ' ' + text)
})()`

// checkContrast checks the contrast of what the page shows, light and dark, and keeps pictures of it in the directory that PINION_SCREENSHOTS names, if it does.
func (p *page) checkContrast(name string) {
	p.Helper()
	for _, theme := range []string{"light", "dark"} {
		var weak []string
		p.do(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}), chromedp.Evaluate(faint, &weak))
		if len(weak) > 0 {
			p.Errorf("%s, %s: texts that can hardly be read: %q", name, theme, weak)
		}
		dir := os.Getenv("PINION_SCREENSHOTS")
		if dir == "" {
			continue
		}
		var picture []byte
		p.do(chromedp.CaptureScreenshot(&picture))
		if err := os.WriteFile(filepath.Join(dir, name+"-"+theme+".png"), picture, 0o644); err != nil {
			p.Fatal(err)
		}
	}
}
