package sigv4

import (
	"fmt"
	"net/http"
	"testing"
	"time"
)

// A secret that proved right proves nothing about another one, nor for another day or region.
func TestWhatIsRememberedChangesNoVerdict(t *testing.T) {
	secrets := map[string]string{keyID: secret}
	verifier := Verifier{Service: "ecs", Now: func() time.Time { return now }, Signers: new(SignerCache)}
	check := func(r *http.Request) error {
		_, err := verifier.Verify(r, []byte(body), func(id string) (string, bool) { return secrets[id], true })
		return err
	}
	right := request(t, now, nil)
	for range 2 {
		if err := check(right); err != nil {
			t.Fatal(err)
		}
	}
	secrets[keyID] = "another"
	if check(right) == nil {
		t.Error("a key whose secret is another one now is accepted")
	}
	secrets[keyID] = secret
	now := now
	for day := range 3 {
		now = now.AddDate(0, 0, day)
		verifier.Now = func() time.Time { return now }
		if err := check(request(t, now, nil)); err != nil {
			t.Errorf("day %d: %v", day, err)
		}
	}
	if check(right) == nil {
		t.Error("what was signed days ago is accepted")
	}
}

func TestOnlyWhatProvedRightIsRememberedAndNotWithoutEnd(t *testing.T) {
	var s SignerCache
	verifier := Verifier{Service: "ecs", Now: func() time.Time { return now }, Signers: &s}
	wrong := func(string) (string, bool) { return "another", true }
	if _, err := verifier.Verify(request(t, now, nil), []byte(body), wrong); err == nil || len(s.known) != 0 {
		t.Errorf("%v, %d signers are remembered", err, len(s.known))
	}
	for i := range 2 * maxSigners {
		its := credentialScope{secret, "20260102", fmt.Sprint("region-", i), "ecs"}
		s.put(its, s.get(its))
		if len(s.known) > maxSigners {
			t.Fatalf("%d signers are remembered", len(s.known))
		}
	}
}
