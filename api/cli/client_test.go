package cli

import (
	"context"
	"errors"
	"strings"
	"testing"

	"pinion/api/cli/exit"
)

// A client, as on macOS and Windows, has no host to start or to stop.
func TestAClientRefusesWhatIsForHosts(t *testing.T) {
	for _, line := range []string{"up", "up --gpus none", "down --purge", "leave", "doctor", "unlock set", "unlock change --new ask"} {
		err := runLine(context.Background(), New(Program{Client: true}), append([]string{"pinion"}, strings.Fields(line)...))
		var refused *exit.Error
		if !errors.As(err, &refused) || refused.Code != exit.Usage || !strings.Contains(err.Error(), "Linux hosts only") {
			t.Errorf("pinion %s: %v", line, err)
		}
	}
}
