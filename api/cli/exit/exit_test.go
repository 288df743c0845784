package exit

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestErrorsArePrintedOnceWithTheirExitCodes(t *testing.T) {
	for _, c := range []struct {
		err  error
		code int
		text string
	}{
		{nil, 0, ""},
		{errors.New("no host"), Failure, "pinion: no host\n"},
		{fmt.Errorf("outer: %w", Usagef("--gpus %d", -1)), Usage, "pinion: outer: --gpus -1\n"},
		{Silent(137), 137, ""},
	} {
		var out strings.Builder
		if code := Report(&out, c.err); code != c.code || out.String() != c.text {
			t.Errorf("%v: code %d, %q", c.err, code, out.String())
		}
	}
}
