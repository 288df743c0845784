package openid_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode"

	"pinion/api/openid"
	"pinion/api/openid/openidtest"
)

// An issuer sets the pace at which it is asked within bounds: a pause of less than none would be a fault of the command, and one of years no login.
func TestAnIssuerSetsThePaceWithinBounds(t *testing.T) {
	for _, interval := range []int64{-1, 1 << 40} {
		idp := openidtest.New(t)
		idp.Answer("/device", func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"device_code":"d","user_code":"U","verification_uri":"https://idp.example.com","expires_in":60,"interval":%d}`, interval)
		})
		if _, err := openid.LogIn(t.Context(), pool(idp), func(openid.Prompt) { t.Errorf("a person is asked to log in every %d s", interval) }); err == nil {
			t.Errorf("every %d s: it has logged in", interval)
		}
	}
}

// answersDevice has an issuer answer a device with some members of its answer changed; nil takes one away.
func answersDevice(idp *openidtest.Issuer, changed map[string]any) {
	answer := map[string]any{"device_code": "device-1", "user_code": "ABCD-EFGH", "verification_uri": "https://idp.example.com/enter", "expires_in": 60, "interval": 1}
	for name, value := range changed {
		if answer[name] = value; value == nil {
			delete(answer, name)
		}
	}
	idp.Answer("/device", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer)
	})
}

// What an issuer has a person open and enter is the address of a page, over https, and a short code: it is shown on terminals and as a link.
func TestNobodyIsSentToWhatIsNoPage(t *testing.T) {
	for what, c := range map[string]struct {
		changed map[string]any
		fine    bool
	}{
		"a page":                    {nil, true},
		"a page with the code":      {map[string]any{"verification_uri_complete": "https://idp.example.com/enter?user_code=ABCD-EFGH"}, true},
		"a program":                 {map[string]any{"verification_uri": "javascript:alert(1)"}, false},
		"a program with the code":   {map[string]any{"verification_uri_complete": "javascript:alert('ABCD-EFGH')"}, false},
		"a document":                {map[string]any{"verification_uri": "data:text/html,<script>alert(1)</script>"}, false},
		"a file":                    {map[string]any{"verification_uri": "file:///etc/passwd"}, false},
		"no TLS":                    {map[string]any{"verification_uri": "http://idp.example.com/enter"}, false},
		"a path":                    {map[string]any{"verification_uri": "/enter"}, false},
		"a host without a scheme":   {map[string]any{"verification_uri": "//idp.example.com/enter"}, false},
		"a name before the host":    {map[string]any{"verification_uri": "https://login.example.com@evil.example/"}, false},
		"a control character":       {map[string]any{"verification_uri": "https://idp.example.com/\x1b]0;x\a"}, false},
		"a new line":                {map[string]any{"verification_uri_complete": "https://idp.example.com/\n"}, false},
		"a letter that looks alike": {map[string]any{"verification_uri": "https://idp.ex\u0430mple.com/"}, false},
		"a long address":            {map[string]any{"verification_uri": "https://idp.example.com/" + strings.Repeat("a", 2<<10)}, false},
		"nowhere":                   {map[string]any{"verification_uri": nil}, false},
		"a code for a terminal":     {map[string]any{"user_code": "\x1b[2J"}, false},
		"a code that turns around":  {map[string]any{"user_code": "\u202eDCBA"}, false},
		"a long code":               {map[string]any{"user_code": strings.Repeat("A", 65)}, false},
		"no code":                   {map[string]any{"user_code": ""}, false},
		"no device code":            {map[string]any{"device_code": ""}, false},
		"a long device code":        {map[string]any{"device_code": strings.Repeat("a", 5<<10)}, false},
		"a code that is over":       {map[string]any{"expires_in": -1}, false},
	} {
		idp := openidtest.New(t)
		answersDevice(idp, c.changed)
		device, err := openid.Start(t.Context(), pool(idp), now)
		if (err == nil) != c.fine {
			t.Errorf("%s: %+v, %v", what, device, err)
		}
		if err != nil && strings.ContainsFunc(err.Error(), func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("%s: %q is for a terminal", what, err)
		}
	}
}

// An issuer elsewhere names no page of this machine without TLS.
func TestAnIssuerOfThisMachineMayNamePagesOfThisMachine(t *testing.T) {
	idp := openidtest.New(t)
	if device, err := openid.Start(t.Context(), pool(idp), now); err != nil || device.Prompt.URL != idp.URL+"/enter" {
		t.Errorf("%+v, %v", device, err)
	}
}

// A code that says of no end, or of one in years, is not waited for longer than half an hour.
func TestACodeEnds(t *testing.T) {
	for expires, want := range map[any]time.Duration{nil: 30 * time.Minute, 60: time.Minute, 1 << 30: 30 * time.Minute} {
		idp := openidtest.New(t)
		answersDevice(idp, map[string]any{"expires_in": expires})
		device, err := openid.Start(t.Context(), pool(idp), now)
		if err != nil {
			t.Fatal(err)
		}
		if life := device.Expires.Sub(now); life > want || life < want-10*time.Second {
			t.Errorf("%v: it lives for %v", expires, life)
		}
	}
}
