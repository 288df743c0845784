package secret

import (
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"pinion/api/cli/exit"
	"pinion/api/cli/invocation"
)

// maxValue is the most bytes that Secrets Manager takes as a value.
const maxValue = 64 << 10

// readValue is the value for a secret: of --file, else what is typed at a terminal, else of standard input.
func readValue(c *cli.Context, name string) ([]byte, error) {
	source, from := c.App.Reader, "standard input"
	if path := c.String("file"); path != "" && path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("--file: %w", err)
		}
		defer file.Close()
		source, from = file, path
	}
	value, err := readFrom(source, c.App.ErrWriter, name)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the value of %s from %s: %w", name, from, err)
	case len(value) == 0:
		return nil, exit.Usagef("%s has no value for %s: nothing was put", from, name)
	case len(value) > maxValue:
		return nil, exit.Usagef("%s has more than %d bytes, the most that a secret can have: encrypt it with a key, and keep that key as the secret", from, maxValue)
	}
	return value, nil
}

// readFrom reads a line at a terminal without showing it, and elsewhere all there is.
func readFrom(source io.Reader, out io.Writer, name string) ([]byte, error) {
	if terminal, is := source.(*os.File); is && term.IsTerminal(int(terminal.Fd())) {
		return invocation.AskSecret(terminal, out, "Value of "+name+", which is not shown: ")
	}
	return io.ReadAll(io.LimitReader(source, maxValue+1))
}
