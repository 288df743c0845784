package invocation

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"

	"pinion/api/cli/exit"
)

// AskSecret reads a line without showing it. Ctrl-C leaves the terminal as it was.
func AskSecret(terminal *os.File, out io.Writer, prompt string) ([]byte, error) {
	before, err := term.GetState(int(terminal.Fd()))
	if err != nil {
		return nil, err
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	defer signal.Stop(signals)
	type answer struct {
		text []byte
		err  error
	}
	answered := make(chan answer, 1)
	fmt.Fprint(out, prompt)
	go func() {
		text, err := term.ReadPassword(int(terminal.Fd()))
		answered <- answer{text, err}
	}()
	defer fmt.Fprintln(out)
	select {
	case a := <-answered:
		return a.text, a.err
	case <-signals:
		return nil, errors.Join(term.Restore(int(terminal.Fd()), before), exit.Silent(exit.Interrupted))
	}
}
