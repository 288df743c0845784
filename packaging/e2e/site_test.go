package e2e

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// makeSite makes the site of the documentation, as `make docs` does.
func makeSite(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "site")
	cmd := exec.Command("go", "run", "-buildvcs=false", ".", "-to", dir)
	cmd.Dir = "../docs"
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

// whatIsWrong lists what a page of the site has to have and has not: one title, one place of its own in the navigation at most, no text that is wider
// than the window, and no two elements of one id.
const whatIsWrong = `(() => {
	const wrong = [], count = selector => document.querySelectorAll(selector).length
	if (count('h1') !== 1) wrong.push(count('h1') + ' h1')
	if (count('nav [aria-current]') > 1) wrong.push('it is twice in the navigation')
	if (document.documentElement.scrollWidth > innerWidth) wrong.push('it is ' + document.documentElement.scrollWidth + ' wide in a window of ' + innerWidth)
	const ids = [...document.querySelectorAll('[id]')].map(e => e.id)
	for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) wrong.push('two of the id ' + id)
	return wrong
})()`

// linked lists where the links of a page lead, but for other sites.
const linked = `[...document.querySelectorAll('a[href]')].map(a => a.href).filter(href => href.startsWith(location.origin))`

// A reader opens every page of the documentation, on a wide screen and on a phone, light and dark, and follows every link.
func TestEveryPageOfTheDocumentation(t *testing.T) {
	dir := makeSite(t)
	server := httptest.NewTLSServer(http.FileServerFS(os.DirFS(dir)))
	defer server.Close()
	p := openSite(t, server.URL)

	links, ids := map[string]string{}, map[string]bool{} // by address: a page that has it; what is there
	pages := 0
	must(t, fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		address := server.URL + "/" + name
		if address = strings.TrimSuffix(address, "index.html"); !strings.HasSuffix(name, ".html") {
			ids[address] = true
			return nil
		}
		pages++
		var hrefs, found []string
		p.do(chromedp.Navigate(address), chromedp.Evaluate(linked, &hrefs), chromedp.Evaluate(`[...document.querySelectorAll('[id]')].map(e => e.id)`, &found))
		for _, href := range hrefs {
			links[strings.Replace(href, "/index.html", "/", 1)] = name
		}
		ids[address] = true
		for _, id := range found {
			ids[address+"#"+id] = true
		}
		for _, width := range []int64{1400, 390} {
			var wrong []string
			p.do(emulation.SetDeviceMetricsOverride(width, 900, 1, width < 500), chromedp.Evaluate(whatIsWrong, &wrong))
			if len(wrong) > 0 {
				t.Errorf("%s, %d wide: %q", name, width, wrong)
			}
		}
		return nil
	}))
	for link, page := range links {
		if !ids[link] {
			t.Errorf("%s: a dead link: %s", page, link)
		}
	}
	if pages < 30 || len(links) < 200 {
		t.Errorf("%d pages with %d links", pages, len(links))
	}
	for _, name := range []string{"index.html", "docs/install.html"} {
		p.do(emulation.ClearDeviceMetricsOverride(), chromedp.Navigate(server.URL+"/"+name))
		p.checkContrast("docs-" + strings.ReplaceAll(strings.TrimSuffix(name, ".html"), "/", "-"))
	}
}

// The search works on a page that was opened as a file, without a server, and shows what it finds as text.
func TestTheDocumentationIsSearchedWithoutAServer(t *testing.T) {
	dir := makeSite(t)
	p := openSite(t, "file://"+dir)
	p.do(chromedp.Navigate("file://"+dir+"/docs/hosts.html"), chromedp.KeyEvent("/"))
	p.waits("document.activeElement.type === 'search'")
	const clear = "document.querySelector('input').value = ''" // chromedp types the character of a key whose press was handled, too
	p.do(chromedp.Evaluate(clear, nil), chromedp.SendKeys("input[type=search]", "preemptible tag"))
	p.waits("document.querySelector('#results a')")
	p.do(chromedp.KeyEvent("\r"), chromedp.WaitReady("h2#tags"))
	if !p.holds("location.pathname.endsWith('/docs/scheduling.html') && location.hash === '#tags'") {
		t.Error("the first that is found is not the list of tags")
	}
	p.do(chromedp.SendKeys("input[type=search]", "<b>zzz"))
	p.waits("document.querySelector('#results p') && !document.querySelector('#results b')")
	p.do(chromedp.Evaluate(clear, nil), chromedp.SendKeys("input[type=search]", "nvidia-smi"))
	p.waits("document.querySelectorAll('#results a').length > 3 && document.querySelector('#results mark')")
	p.do(chromedp.KeyEvent("\x1b"))
	p.waits("document.getElementById('results').hidden")
}

// openSite opens a browser that reads a site. At the test's end nothing may have gone wrong in it, nor anything been asked elsewhere.
func openSite(t *testing.T, url string) *page {
	t.Helper()
	return openURL(t, url+"/", url+"/index.html")
}
