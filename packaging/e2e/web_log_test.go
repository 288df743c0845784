package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"
)

// The log of a task with two containers that write at once goes on on the web page while the host is started anew: no line is lost, and none is there twice.
func TestALogOnTheWebPageGoesOnWhileItsHostStartsAnew(t *testing.T) {
	h := newHost(t)
	h.registry = startDockerHub(t)
	t.Cleanup(func() { h.down(t) })
	h.start(t)
	witness := h.witness(t)
	var containers []object
	for _, name := range []string{"one", "two"} {
		containers = append(containers, object{
			"name": name, "image": "busybox", "memory": 64, "mountPoints": []object{{"sourceVolume": "w", "containerPath": "/w"}},
			"command": []string{"sh", "-c", `i=0; while [ ! -e /w/end ]; do echo ` + name + `=$i; i=$((i+1)); usleep 20000; done`},
		})
	}
	h.mustCall(t, "RegisterTaskDefinition", object{
		"family": "twins", "networkMode": "none", "containerDefinitions": containers, "volumes": []object{{"name": "w", "host": object{"sourcePath": witness}}},
	})
	id := h.runTask(t, "twins")
	h.waitLog(t, id, "two=3")

	p := open(t, h)
	p.signIn(h.makeKey(t, "read"))
	p.waits("location.hash === '' && document.querySelector('.cells')")
	p.visit("#/tasks/" + id)
	p.sees("one | one=9")
	for range 2 {
		h.signalAndWait(t, syscall.SIGTERM)
		h.start(t)
		last := numbersOf(h.log(t, id), "two")
		p.sees("two=" + last[len(last)-1])
	}
	if err := os.WriteFile(filepath.Join(witness, "end"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	h.waitStopped(t, id)
	log := h.log(t, id)
	var shown string
	for _, name := range []string{"one", "two"} {
		all := numbersOf(log, name)
		p.sees(name + "=" + all[len(all)-1])
	}
	p.do(chromedp.Evaluate("[...document.querySelectorAll('pre.log span')].map(line => line.textContent.trim()).join('\\n')", &shown))
	for _, name := range []string{"one", "two"} {
		if got, want := numbersOf(shown, name), numbersOf(log, name); !slices.Equal(got, want) {
			t.Errorf("%s: the page has %d lines, the log %d; the first that differs: %s", name, len(got), len(want), firstDifference(got, want))
		}
	}
	p.checkBut("ERR_CONNECTION", "ERR_HTTP2_PROTOCOL_ERROR", "ERR_SSL_PROTOCOL_ERROR", "status of 500", "status of 503")
}

// scriptedLogs has the page read logs that break off, cannot be read for a moment, and go on: with lines that it has had, and with two of one container that
// were stamped before the newest line of the other.
const scriptedLogs = `{
	const line = (container, time, text) => JSON.stringify({time: '2026-01-02T03:04:' + time + 'Z', container, stream: 'stdout', text}) + '\n'
	const stream = (lines, breaks) => new Response(new ReadableStream({start(c) {
		c.enqueue(new TextEncoder().encode(lines.join('')))
		setTimeout(() => breaks && c.error(new Error('cut')), 100)
	}}))
	const answers = [
		() => stream([line('one', '05.1', 'first'), line('two', '05.12', 'second')], true),
		() => new Response('{"__type":"ServerException","message":"This host starts."}', {status: 500}),
		() => stream([line('one', '05.1', 'first'), line('one', '05.1', 'at once'), line('one', '05.11', 'late'), line('two', '05.12', 'second'), line('two', '05.2', 'last')]),
	]
	const real = window.fetch
	window.asked = []
	window.fetch = (url, ...more) => {
		if (!String(url).includes('/logs?')) return real(url, ...more)
		asked.push(String(url))
		return Promise.resolve(answers.shift()())
	}
}`

// A log that goes on has each line once, also those that are stamped alike, or were written later than they are stamped; a host that cannot answer yet is
// asked again.
func TestALogOnTheWebPageHasEachLineOnce(t *testing.T) {
	h := sharedHost(t)
	id := h.runForExec(t, "log-lines")
	p := open(t, h)
	p.signIn(h.makeKey(t, "read"))
	p.waits("location.hash === '' && document.querySelector('.cells')")
	p.do(chromedp.Evaluate(scriptedLogs, nil))
	p.visit("#/tasks/" + id)
	p.sees("last")
	var shown []string
	p.do(chromedp.Evaluate("[...document.querySelectorAll('pre.log span')].map(line => line.textContent.trim())", &shown))
	if want := []string{"first", "second", "at once", "late", "last"}; !slices.Equal(shown, want) {
		t.Errorf("the page shows %q, not %q", shown, want)
	}
	if !p.holds("asked[0].includes('tail=1000') && asked[1] === asked[2] && asked[2].includes(encodeURIComponent('2026-01-02T03:04:05.100000000Z'))") {
		t.Error("it goes on from elsewhere than the first line")
	}
}

// numbersOf are the numbers that a container has written, whatever is before them in their lines.
func numbersOf(log, container string) (numbers []string) {
	for line := range strings.Lines(log) {
		if _, number, is := strings.Cut(strings.TrimSpace(line), container+"="); is {
			numbers = append(numbers, number)
		}
	}
	return numbers
}

// firstDifference is the first place where two lists differ.
func firstDifference(got, want []string) string {
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return fmt.Sprintf("%s in the place of %s, behind %s", got[i], want[i], strings.Join(got[max(0, i-3):i], " "))
		}
	}
	return fmt.Sprintf("at %d, where one ends", min(len(got), len(want)))
}
