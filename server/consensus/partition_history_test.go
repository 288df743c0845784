package consensus

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"
)

// writeOutcome is what a client was told about a write.
type writeOutcome int

const (
	acknowledged writeOutcome = iota
	refused                   // nothing was recorded
	unknown                   // it may have been recorded or not
)

func (o writeOutcome) String() string { return [...]string{"acknowledged", "refused", "unknown"}[o] }

// operation is one request of a client to a register that keeps every write: the Nth one makes it N.
type operation struct {
	mark         string // of a write, never used twice; empty for a read, which is kept only when it was answered
	began, ended time.Time
	told         writeOutcome
	value        int // what the register was made, or was seen as
}

// contradictions are the reasons why no single register can have answered like this and hold these marks at the end, in
// the order in which they were written. None means that the history is linearizable.
func contradictions(attempts []operation, kept []string) []string {
	wrong := misheld(attempts, kept)
	position := map[string]int{}
	for i, mark := range kept {
		position[mark] = i + 1
	}
	var ordered []operation // everything that took effect, in the only order in which it can have
	for _, a := range attempts {
		if a.mark != "" {
			a.value = position[a.mark]
		}
		if a.mark == "" || a.value > 0 {
			ordered = append(ordered, a)
		}
	}
	slices.SortStableFunc(ordered, inOrder)
	return append(wrong, misordered(ordered)...)
}

// misheld finds writes that are not there, not where the client was told, there twice, or there without a reason.
func misheld(attempts []operation, kept []string) (wrong []string) {
	written := map[string]operation{}
	for _, a := range attempts {
		switch {
		case a.value > len(kept):
			wrong = append(wrong, fmt.Sprintf("%q was told of %d writes, there are %d", a.mark, a.value, len(kept)))
		case a.mark != "" && a.told == acknowledged && (a.value < 1 || kept[a.value-1] != a.mark):
			wrong = append(wrong, fmt.Sprintf("%s was acknowledged as write %d and is not there", a.mark, a.value))
		}
		if a.mark != "" {
			written[a.mark] = a
		}
	}
	for i, mark := range kept {
		a, asked := written[mark]
		switch {
		case !asked:
			wrong = append(wrong, fmt.Sprintf("write %d, %s, was never asked for, or is there twice", i+1, mark))
		case a.told == refused:
			wrong = append(wrong, fmt.Sprintf("%s was refused and is there as write %d", mark, i+1))
		}
		delete(written, mark)
	}
	return wrong
}

// inOrder puts a read behind the write that it saw.
func inOrder(a, b operation) int {
	return cmp.Or(cmp.Compare(a.value, b.value), cmp.Compare(min(1, len(b.mark)), min(1, len(a.mark))))
}

// misordered finds whatever was over before something began that comes earlier in the order.
func misordered(ordered []operation) (wrong []string) {
	var soonest *operation // to end, of those that come later in the order
	for end := len(ordered); end > 0; {
		begin := end - 1
		for begin > 0 && inOrder(ordered[begin-1], ordered[end-1]) == 0 { // reads of one value have no order
			begin--
		}
		for i := begin; i < end; i++ {
			if a := ordered[i]; soonest != nil && soonest.ended.Before(a.began) {
				wrong = append(wrong, fmt.Sprintf("%q (%d) began after %q (%d) was over", a.mark, a.value, soonest.mark, soonest.value))
			}
		}
		for i := begin; i < end; i++ {
			if a := &ordered[i]; a.told != unknown && (soonest == nil || a.ended.Before(soonest.ended)) {
				soonest = a
			}
		}
		end = begin
	}
	return wrong
}

func TestContradictionsAreNoticed(t *testing.T) {
	at := func(second int) time.Time { return day0.Add(time.Duration(second) * time.Second) }
	write := func(mark string, began, ended int, told writeOutcome, value int) operation {
		return operation{mark, at(began), at(ended), told, value}
	}
	read := func(began, ended, value int) operation {
		return operation{"", at(began), at(ended), acknowledged, value}
	}
	for name, c := range map[string]struct {
		attempts []operation
		kept     []string
		wrong    int
	}{
		"one after the other":            {[]operation{write("a", 0, 1, acknowledged, 1), read(2, 3, 1), write("b", 4, 5, acknowledged, 2), read(6, 7, 2)}, []string{"a", "b"}, 0},
		"at once, in any order":          {[]operation{write("a", 0, 9, acknowledged, 2), write("b", 0, 9, acknowledged, 1), read(1, 8, 0), read(1, 8, 2), read(1, 8, 1)}, []string{"b", "a"}, 0},
		"unknown and not there":          {[]operation{write("a", 0, 1, unknown, 0), read(2, 3, 0)}, nil, 0},
		"unknown and there late":         {[]operation{write("a", 0, 1, unknown, 0), read(2, 3, 0), read(4, 5, 1)}, []string{"a"}, 0},
		"refused and not there":          {[]operation{write("a", 0, 1, refused, 0)}, nil, 0},
		"an acknowledged write is lost":  {[]operation{write("a", 0, 1, acknowledged, 1)}, nil, 1},
		"another is in its place":        {[]operation{write("a", 0, 1, acknowledged, 1), write("b", 0, 1, unknown, 0)}, []string{"b"}, 1},
		"a write is there twice":         {[]operation{write("a", 0, 1, acknowledged, 1)}, []string{"a", "a"}, 1},
		"a refused write is there":       {[]operation{write("a", 0, 1, refused, 0)}, []string{"a"}, 1},
		"a write before an earlier one":  {[]operation{write("a", 0, 1, acknowledged, 2), write("b", 2, 3, acknowledged, 1)}, []string{"b", "a"}, 1},
		"a read of the past":             {[]operation{write("a", 0, 1, acknowledged, 1), read(2, 3, 0)}, []string{"a"}, 1},
		"a read of the future":           {[]operation{read(0, 1, 1), write("a", 2, 3, acknowledged, 1)}, []string{"a"}, 1},
		"a read of what is never there":  {[]operation{read(0, 1, 1)}, nil, 1},
		"a later read sees less":         {[]operation{write("a", 0, 9, unknown, 0), read(1, 2, 1), read(3, 4, 0)}, []string{"a"}, 1},
		"reads of one value in any turn": {[]operation{write("a", 0, 1, acknowledged, 1), read(4, 5, 1), read(2, 3, 1)}, []string{"a"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if wrong := contradictions(c.attempts, c.kept); len(wrong) != c.wrong {
				t.Errorf("got %q, want %d", wrong, c.wrong)
			}
		})
	}
}
