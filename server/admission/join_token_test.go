package admission

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestATokenIsReadAsItWasWritten(t *testing.T) {
	token, err := newToken(strings.Repeat("ab", 32))
	if err != nil {
		t.Fatal(err)
	}
	read, err := ParseToken("  " + token.String() + "\n")
	if err != nil || read.ID != token.ID || read.Secret != token.Secret || string(read.Fingerprint) != string(token.Fingerprint) {
		t.Errorf("%+v was read as %+v, %v", token, read, err)
	}
}

func TestWhatIsNoTokenIsRefused(t *testing.T) {
	for name, text := range map[string]string{
		"empty":               "",
		"a word":              "secret",
		"of a later version":  "pinion2.aaaaaaaaaaaaaaaaaaaaaaaaaa.id.secret",
		"cut off":             "pinion1.aaaaaaaaaaaaaaaaaaaaaaaaaa.id.",
		"a short fingerprint": "pinion1.aaaa.id.secret",
		"not base32":          "pinion1.!!!!.id.secret",
	} {
		if _, err := ParseToken(text); !errors.Is(err, ErrTokenFormat) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestATokenIsForHostsAndAgentsAndNotForThePast(t *testing.T) {
	tokens := &JoinTokens{Fingerprint: func() string { return strings.Repeat("ab", 32) }, Now: time.Now}
	for name, create := range map[string]func() (string, error){
		"another role":     func() (string, error) { return tokens.CreateJoinToken(t.Context(), 0, 0, "admin", "") },
		"a past end":       func() (string, error) { return tokens.CreateJoinToken(t.Context(), -time.Hour, 0, "", "") },
		"less than no use": func() (string, error) { return tokens.CreateJoinToken(t.Context(), 0, -1, "", "") },
	} {
		if token, err := create(); err == nil {
			t.Errorf("%s: %s", name, token)
		}
	}
}

func TestWithoutACAThereIsNoToken(t *testing.T) {
	tokens := &JoinTokens{Fingerprint: func() string { return "" }, Now: time.Now}
	if token, err := tokens.CreateJoinToken(t.Context(), 0, 0, "", ""); err == nil {
		t.Error(token)
	}
}
