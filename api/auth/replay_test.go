package auth

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pinion/api/httpx"
	"pinion/api/wire"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestSignaturesAreForgottenWhenTheyExpireAndWhenThereAreTooMany(t *testing.T) {
	text := func(n int) string { return fmt.Sprintf("%064x", n) }
	c := ReplayCache{maxPerGeneration: 10}
	for n := range 15 {
		finish, ok := c.claim(text(n), epoch)
		if !ok {
			t.Fatalf("signature %d is new", n)
		}
		finish(true)
	}
	for n := range 15 {
		if _, ok := c.claim(text(n), epoch); ok {
			t.Errorf("signature %d is forgotten while there is room", n)
		}
	}
	for n := 15; n < 35; n++ {
		c.claim(text(n), epoch)
	}
	if held := len(c.current) + len(c.previous); held > 20 {
		t.Errorf("%d are held", held)
	}
	if _, ok := c.claim(text(34), epoch.Add(replayTTL-time.Second)); ok {
		t.Error("one is forgotten before its date refuses it")
	}
	c.claim(text(100), epoch.Add(replayTTL))
	c.claim(text(101), epoch.Add(2*replayTTL))
	if held := len(c.current) + len(c.previous); held != 2 {
		t.Errorf("%d are held", held)
	}
}

func TestASignatureInUseIsNotUsedTwice(t *testing.T) {
	var c ReplayCache
	signature := strings.Repeat("0", 64)
	finish, _ := c.claim(signature, epoch)
	if _, ok := c.claim(signature, epoch); ok {
		t.Error("while the first is in flight")
	}
	finish(false)
	if _, ok := c.claim(signature, epoch); !ok {
		t.Error("the first has failed")
	}
}

func TestOnceRejectsASignatureThatHasMadeAChange(t *testing.T) {
	signed := Principal{Signature: strings.Repeat("1", 64)}
	failed := errors.New("failed")
	for name, c := range map[string]struct {
		principal Principal
		token     string
		first     error
		again     bool // the second call is carried out
	}{
		"a signature":                     {principal: signed},
		"a signature whose change failed": {principal: signed, first: failed, again: true},
		"a client token":                  {principal: signed, token: "t", again: true},
		"no signature":                    {again: true},
	} {
		t.Run(name, func(t *testing.T) {
			var cache ReplayCache
			changes := 0
			change := func(err error) error {
				return cache.Once(c.principal, c.token, epoch, func() error { changes++; return err })
			}
			if err := change(c.first); err != c.first {
				t.Fatal(err)
			}
			err := change(nil)
			refusal, _ := errors.AsType[*wire.Error](err)
			if replayed := refusal != nil && refusal.Type == httpx.Replayed; replayed == c.again || c.again && changes != 2 {
				t.Errorf("%d changes, then %v", changes, err)
			}
		})
	}
}
