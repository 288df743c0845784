package peer

import (
	"fmt"
	"testing"
)

func TestARefusalIsLoggedOnceAndTheOldestIsForgotten(t *testing.T) {
	var logged RefusalLog
	for i := range 2 * maxLoggedRefusals {
		if host := fmt.Sprint(i); !logged.First(host, "key") || !logged.First(host, "protocol") || logged.First(host, "key") {
			t.Fatalf("host %s is not logged once for each refusal", host)
		}
	}
	if len(logged.known) != maxLoggedRefusals || len(logged.oldest) != maxLoggedRefusals {
		t.Errorf("%d refusals are remembered, in the order of %d", len(logged.known), len(logged.oldest))
	}
	if !logged.First("0", "key") {
		t.Error("the oldest is remembered")
	}
}
