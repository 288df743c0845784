package cli

import (
	"strings"
	"testing"
	"unicode"
)

// A definition, a name and what a program says come from others than those who read them. None of it steers their terminals.
func TestWhatOthersWriteControlsNoTerminal(t *testing.T) {
	const hostile = "a\\u001b]0;x\\u0007\u009b31m\u202e"
	h := newFakeHost(t).withTasks(runningTask, failedTask)
	h.documents["/v1/events?follow=false"] = eventStream(eventFrame("2-0", "cluster", `{"clusterName":"`+hostile+`","status":"ACTIVE"}`))
	h.documents["/v1/tasks/"+taskOne+"/explain"] = serveDocument(strings.Replace(whyDocument, "It is number", hostile+" is number", 1))
	for _, line := range []string{"events", "events -o json", "events --format json", "why " + taskOne, "why -o json " + taskOne, "why --group g\x1b[31m"} {
		got := pinion(t, h, strings.Fields(line)...)
		shown := strings.ReplaceAll(got.out+got.err, "\n", "")
		if shown == "" || strings.ContainsFunc(shown, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }) {
			t.Errorf("%s: %q", line, shown)
		}
	}
}

// A host says itself how it is called.
func TestTheNameOfAHostControlsNoTerminal(t *testing.T) {
	h := newTwoHostPool(t)
	h.documents["/v1/hosts"] = serveDocument(`[{"id":"` + hostTwo + `","cluster":"lab","name":"a\u001b[2J\u009b31m"}]`)
	for _, line := range []string{"hosts rm --force bb", "activate bb"} {
		got := pinion(t, h, strings.Fields(line)...)
		if shown := strings.TrimSpace(got.out); got.code != 0 || shown == "" || strings.ContainsFunc(shown, unicode.IsControl) {
			t.Errorf("%s: %+v", line, got)
		}
	}
}
