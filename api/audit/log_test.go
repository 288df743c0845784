package audit

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// newLog is a log whose clock the test moves.
func newLog(t testing.TB) (l *Log, dir string, clock *time.Time) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "audit")
	l, err := Open(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	l.now = func() time.Time { return now }
	return l, dir, &now
}

func readAll(t testing.TB, dir string, since time.Time) (all []Line) {
	t.Helper()
	if damaged, err := Read(dir, since, func(e Line) error { all = append(all, e); return nil }); err != nil || damaged > 0 {
		t.Fatal(damaged, err)
	}
	return all
}

func refusal(address string) Line {
	return Line{Outcome: Refused, Address: address, Operation: "RunTask", Error: "AccessDeniedException", RequestID: "r"}
}

func TestRefusalsThatRepeatAreCounted(t *testing.T) {
	l, dir, now := newLog(t)
	for i := range 1000 {
		l.Record(refusal(fmt.Sprintf("192.0.2.1:%d", i))) // another port each time
	}
	l.Record(refusal("192.0.2.2:1"))
	l.Record(Line{Outcome: Done, Operation: "CreateCluster"})
	l.Record(Line{Outcome: Done, Operation: "CreateCluster"})
	if all := readAll(t, dir, time.Time{}); len(all) != 4 {
		t.Errorf("one of each refusal and both changes are 4 lines, not %d", len(all))
	}
	*now = now.Add(repeatWindow)
	l.Record(refusal("192.0.2.1:9"))
	all := readAll(t, dir, time.Time{})
	if len(all) != 6 || all[4].Repeats != 999 || all[5].Repeats != 0 {
		t.Errorf("%+v", all)
	}
}

func TestFollowersAreToldWhatIsWrittenAndNoMore(t *testing.T) {
	l, _, now := newLog(t)
	refusals, stop := l.Follow()
	for range 10 * followBuffer {
		l.Record(refusal("192.0.2.1:1"))
	}
	l.Record(Line{Outcome: Done, Operation: "CreateCluster"})
	*now = now.Add(repeatWindow)
	l.Record(Line{Outcome: Done, Operation: "CreateCluster"})
	if len(refusals) != 2 || (<-refusals).Repeats != 0 || (<-refusals).Repeats != 10*followBuffer-1 {
		t.Error("one refusal and its count are two entries")
	}
	for i := range 3 * followBuffer { // it does not read
		l.Record(refusal(fmt.Sprintf("10.0.%d.%d:1", i>>8, i&255)))
	}
	if len(refusals) != followBuffer {
		t.Errorf("%d wait for a follower that does not read", len(refusals))
	}
	stop()
	l.Record(refusal("192.0.2.9:1"))
	if len(l.follow) != 0 {
		t.Error("it is told still")
	}
}

func TestTheLinesOfAMinuteAreBounded(t *testing.T) {
	l, dir, now := newLog(t)
	for i := range 3 * maxSources {
		l.Record(refusal(fmt.Sprintf("10.%d.%d.%d:1", i>>16, i>>8&255, i&255)))
	}
	*now = now.Add(repeatWindow)
	l.Record(refusal("192.0.2.1:1"))
	all := readAll(t, dir, time.Time{})
	if len(all) > maxSources+3 {
		t.Errorf("%d lines of %d sources", len(all), maxSources)
	}
	told := 0
	for _, e := range all {
		told += 1 + e.Repeats
		if e.Repeats > 0 {
			told--
		}
	}
	if told != 3*maxSources+1 {
		t.Errorf("%d refusals are told of, there were %d", told, 3*maxSources+1)
	}
}

func TestFilesRotateWithinTheirBound(t *testing.T) {
	l, dir, _ := newLog(t)
	e := Line{Outcome: Done, Operation: "CreateCluster", Message: strings.Repeat("x", 2*maxMessage)}
	for i := range (MaxFiles + 2) * MaxFile / maxMessage {
		e.RequestID = fmt.Sprint(i)
		l.Record(e)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != MaxFiles+2 { // and one each for administrators and refusals
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		info, err := file.Info()
		if err != nil || info.Size() > MaxFile || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %d bytes, %v, %v", file.Name(), info.Size(), info.Mode(), err)
		}
	}
	last, before := "", 0
	if _, err := Read(dir, time.Time{}, func(e Line) error {
		var n int
		_, err := fmt.Sscan(e.RequestID, &n)
		if last != "" && n != before+1 {
			t.Fatalf("after %s comes %s", last, e.RequestID)
		}
		last, before = e.RequestID, n
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// Whoever may do nothing has no say in what is kept of what others did, nor in how much memory and disk a line takes.
func TestRefusalsPushOutNothingThatWasDone(t *testing.T) {
	l, dir, now := newLog(t)
	l.Record(Line{Outcome: Done, Operation: "CreateCluster"})
	long := strings.Repeat("x", maxField)
	for i := range MaxFiles * MaxFile / (3 * maxMessage) {
		if i%maxSources == 0 {
			*now = now.Add(repeatWindow)
		}
		e := refusal("192.0.2.1:1")
		e.Operation, e.Message = fmt.Sprint(i, strings.Repeat("x", 4*maxField)), strings.Repeat("<", 2*maxMessage)
		e.KeyName, e.Via, e.Principal = long, long, long
		l.Record(e)
	}
	for from := range l.refused.repeats {
		if len(from.operation) > maxField {
			t.Fatalf("%d bytes of an operation are remembered", len(from.operation))
		}
	}
	*now = now.Add(repeatWindow)
	l.Record(Line{Outcome: Failed, Operation: "DeleteCluster"})
	all := readAll(t, dir, time.Time{})
	if all[0].Operation != "CreateCluster" || all[len(all)-1].Operation != "DeleteCluster" || len(all) < maxSources {
		t.Errorf("%d lines, the first is %+v and the last %+v", len(all), all[0], all[len(all)-1])
	}
}

// What others may do, and do wrong, takes no place of what an administrator did, and no count of theirs.
func TestWhoIsNoAdministratorPushesOutNothingOfOne(t *testing.T) {
	l, dir, now := newLog(t)
	l.Record(Line{Outcome: Done, Operation: "CreateCluster", Administrator: true})
	long := strings.Repeat("x", maxCommand)
	for i := range MaxFiles * MaxFile / maxCommand {
		l.Record(Line{Outcome: Done, Principal: "submit", Operation: "exec session begins", Command: long})
		l.Record(Line{Outcome: Failed, Principal: "submit", Operation: fmt.Sprint("exec", i)})
	}
	l.Record(Line{Outcome: Failed, Operation: "DeleteCluster", Administrator: true})
	*now = now.Add(repeatWindow)
	l.Record(Line{Outcome: Done, Operation: "PutParameter"})
	all := readAll(t, dir, time.Time{})
	if all[0].Operation != "CreateCluster" {
		t.Errorf("the first of %d lines is %+v", len(all), all[0])
	}
	if !slices.ContainsFunc(all, func(e Line) bool { return e.Operation == "DeleteCluster" && e.Repeats == 0 }) {
		t.Error("an administrator's failure is counted with those of others")
	}
}

func TestFailuresThatRepeatAreCounted(t *testing.T) {
	l, dir, now := newLog(t)
	failure := Line{Outcome: Failed, Principal: "submit", Address: "192.0.2.1:1", Operation: "PutParameter", Error: "ValidationException"}
	for range 1000 {
		l.Record(failure)
	}
	session := Line{Outcome: Failed, Principal: "submit", Operation: "exec session ends", Command: "true"}
	l.Record(session)
	l.Record(session) // each says what was run
	if all := readAll(t, dir, time.Time{}); len(all) != 3 {
		t.Errorf("%d lines", len(all))
	}
	*now = now.Add(repeatWindow)
	l.Record(failure)
	if all := readAll(t, dir, time.Time{}); len(all) != 5 || !slices.ContainsFunc(all, func(e Line) bool { return e.Repeats == 999 && e.Outcome == Failed }) {
		t.Errorf("%+v", all)
	}
}

// A letter may take six bytes in JSON: a line has its bound as it is written.
func TestALineIsBoundedAsItIsWritten(t *testing.T) {
	for _, letter := range []string{"x", "<", "\x00", "\"", "\xff", "é", "\u2028", "😀"} {
		long := strings.Repeat(letter, maxCommand+1)
		e := Line{Principal: long, KeyName: long, Address: long, Via: long, Operation: long, Error: long, Message: long, Command: long}
		e.bound()
		written, err := json.Marshal(e)
		if most := 6*maxField + maxMessage + maxCommand + 512; err != nil || len(written) > most || len(written) < most-600 {
			t.Errorf("%q: %d bytes, %v", letter, len(written), err)
		}
	}
	for text, want := range map[string]string{"short": "short", strings.Repeat("x", maxMessage): strings.Repeat("x", maxMessage), strings.Repeat("x", maxMessage-1) + "é": strings.Repeat("x", maxMessage-1)} {
		if got := cut(text, maxMessage); got != want {
			t.Errorf("%d bytes became %d", len(text), len(got))
		}
	}
}

func TestALineThatWasCutShortIsLeftOut(t *testing.T) {
	l, dir, now := newLog(t)
	l.Record(Line{Outcome: Done, Operation: "one"})
	start := *now
	*now = now.Add(time.Hour)
	l.Record(Line{Outcome: Done, Operation: "two"})
	file, err := os.OpenFile(filepath.Join(dir, usersName), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString(`{"time":"2026-`); err != nil {
		t.Fatal(err)
	}
	file.Close()
	var names []string
	damaged, err := Read(dir, start.Add(time.Minute), func(e Line) error { names = append(names, e.Operation); return nil })
	if damaged != 1 || err != nil || len(names) != 1 || names[0] != "two" {
		t.Errorf("%d damaged, %q, %v", damaged, names, err)
	}
}
