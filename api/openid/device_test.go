package openid_test

import (
	"fmt"
	"net/http"
	"testing"

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
