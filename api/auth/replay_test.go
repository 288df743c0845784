package auth

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"pinion/api/httpx"
	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// try has the cache carry out a change by a key with the n-th signature.
func (c *ReplayCache) try(t testing.TB, n int, at time.Time, change Change) (repeated *httpx.Answer, done bool) {
	t.Helper()
	if change.Principal.KeyID == "" {
		change.Principal.KeyID = "AKIA"
	}
	change.Principal.Signature = fmt.Sprintf("%064x", n)
	if change.Make == nil {
		change.Make = func(spec.Signature) (*httpx.Answer, error) { return &httpx.Answer{}, nil }
	}
	make := change.Make
	change.Make = func(s spec.Signature) (*httpx.Answer, error) { done = true; return make(s) }
	repeated, _ = c.Do(t.Context(), at, change)
	return repeated, done
}

func TestSignaturesAreForgottenWhenTheyExpireAndWhenThereAreTooMany(t *testing.T) {
	c := ReplayCache{maxPerGeneration: 10}
	for n := range 15 {
		if _, done := c.try(t, n, epoch, Change{}); !done {
			t.Fatalf("signature %d is new", n)
		}
	}
	for n := range 15 {
		if _, done := c.try(t, n, epoch, Change{}); done {
			t.Errorf("signature %d is forgotten while there is room", n)
		}
	}
	for n := 15; n < 35; n++ {
		c.try(t, n, epoch, Change{})
	}
	if held := len(c.current) + len(c.previous); held > 20 {
		t.Errorf("%d are held", held)
	}
	if _, done := c.try(t, 34, epoch.Add(replayTTL-time.Second), Change{}); done {
		t.Error("one is forgotten before its date refuses it")
	}
	c.try(t, 100, epoch.Add(replayTTL), Change{})
	c.try(t, 101, epoch.Add(2*replayTTL), Change{})
	if held := len(c.current) + len(c.previous); held != 2 {
		t.Errorf("%d are held", held)
	}
}

func TestAnswersAreKeptWithinABound(t *testing.T) {
	var c ReplayCache
	large := func(size int) Change {
		return Change{Repeatable: true, Make: func(spec.Signature) (*httpx.Answer, error) { return httpx.NewAnswer(200, make([]byte, size)), nil }}
	}
	for n := range 200 {
		change := large(maxAnswer - 1000)
		change.Principal.KeyID = fmt.Sprint(n)
		c.try(t, n, epoch, change)
		if c.answerBytes > maxAnswers {
			t.Fatalf("%d bytes of answers are kept", c.answerBytes)
		}
	}
	if c.try(t, 1000, epoch, large(maxAnswer)); len(c.answers) == 0 {
		t.Error("one large answer made it forget the others")
	}
	if repeated, done := c.try(t, 1000, epoch, large(1)); repeated != nil || done {
		t.Error("a request whose answer was not kept is not refused")
	}
	c.try(t, 1001, epoch.Add(replayTTL), Change{})
	if len(c.answers) > 1 {
		t.Errorf("%d answers outlive their signatures", len(c.answers))
	}
}

func TestOnceRejectsASignatureThatHasMadeAChange(t *testing.T) {
	signed := Principal{Signature: strings.Repeat("1", 64)}
	failed := errors.New("failed")
	for name, c := range map[string]struct {
		principal   Principal
		clientToken string
		first       error
		again       bool // the second call is carried out
		answered    bool // the second call gets the answer of the first
	}{
		"a signature":                     {principal: signed},
		"a signature whose change failed": {principal: signed, first: failed, again: true},
		"a client token":                  {principal: signed, clientToken: "t", answered: true},
		"no signature":                    {again: true},
	} {
		t.Run(name, func(t *testing.T) {
			var cache ReplayCache
			changes, answered := 0, false
			change := func(err error) error {
				repeated, got := cache.Do(t.Context(), epoch, Change{Principal: c.principal, ClientToken: c.clientToken, Make: func(spec.Signature) (*httpx.Answer, error) {
					changes++
					return &httpx.Answer{}, err
				}})
				answered = repeated != nil
				return got
			}
			if err := change(c.first); err != c.first {
				t.Fatal(err)
			}
			err := change(nil)
			refusal, _ := errors.AsType[*wire.Error](err)
			if replayed := refusal != nil && refusal.Type == httpx.Replayed; replayed == (c.again || c.answered) || answered != c.answered || (changes == 2) != c.again {
				t.Errorf("%d changes, then %v", changes, err)
			}
		})
	}
}

func TestEqualRequestsWaitForTheFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, first := range map[string]error{"it is done": nil, "it fails": errors.New("failed")} {
			var c ReplayCache
			finish, made := make(chan struct{}), 0
			change := Change{Principal: Principal{KeyID: "AKIA", Signature: strings.Repeat("1", 64)}, Repeatable: true, Make: func(spec.Signature) (*httpx.Answer, error) {
				<-finish
				made++
				if made == 1 && first != nil {
					return nil, first
				}
				return httpx.NewAnswer(200, fmt.Appendf(nil, "answer %d", made)), nil
			}}
			answered := 0
			for range 10 {
				go func() {
					if repeated, err := c.Do(t.Context(), epoch, change); err == nil && repeated != nil {
						answered++
					}
				}()
				synctest.Wait()
			}
			close(finish)
			synctest.Wait()
			if want := map[bool]int{true: 1, false: 2}[first == nil]; made != want || answered != 10-want {
				t.Errorf("%s: %d changes, and %d answers of another request", name, made, answered)
			}
		}
	})
}

// The whole promise, over any sequence of requests of two keys: a signature changes something once; its answer is given again as
// long as the key has changed nothing else since, and in every other case the request is refused.
func TestASignatureChangesOnceInAnyHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c ReplayCache
		recorded := map[spec.Signature]bool{} // by an earlier leader
		last, done := map[string]int{}, map[int]bool{}
		for i, n := range rapid.SliceOfN(rapid.IntRange(1, 8), 1, 40).Draw(t, "requests") {
			key := fmt.Sprint("AKIA", n%2)
			if rapid.IntRange(0, 9).Draw(t, "leader changes") == 0 {
				for n := range done {
					recorded[spec.Signature([]byte(fmt.Sprintf("%032d", n)))] = true
				}
				c, last = ReplayCache{}, map[string]int{}
			}
			made := false
			repeated, err := c.Do(t.Context(), epoch, Change{
				Principal: Principal{KeyID: key, Signature: fmt.Sprintf("%x", fmt.Sprintf("%032d", n))}, Repeatable: true,
				Recorded: func(s spec.Signature) bool { return recorded[s] },
				Make: func(spec.Signature) (*httpx.Answer, error) {
					made = true
					return httpx.NewAnswer(200, fmt.Append(nil, n)), nil
				},
			})
			switch {
			case made && done[n], !made && !done[n]:
				t.Fatalf("request %d: signature %d was used: %t, and it was carried out: %t", i, n, done[n], made)
			case made:
				done[n], last[key] = true, n
			case (repeated != nil) != (last[key] == n), (err == nil) != (repeated != nil):
				t.Fatalf("request %d: the latest of the key is %d; %d is answered by %v, %v", i, last[key], n, repeated, err)
			}
		}
	})
}
