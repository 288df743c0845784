package login

import (
	"bufio"
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/client"
)

// maxStringSize bounds what is read as a connection string.
const maxStringSize = 4 << 10

// logInWith logs in with a connection string: the word itself, or for "-" what standard input has. The pool is recognized by the
// fingerprint in the string and the key is tried before anything is kept.
func logInWith(c *cli.Context, context, word string) error {
	if word == "-" {
		var err error
		if word, err = readString(c.App.Reader, c.App.ErrWriter); err != nil {
			return err
		}
	} else {
		fmt.Fprintln(c.App.ErrWriter, "The secret is in the history of this shell now, and was in the list of processes: `pinion login -` reads the string from standard input.")
	}
	s, err := client.ParseConnectionString(word)
	if err != nil {
		return exit.Usagef("%w", err)
	}
	ca, err := client.PinnedCA(c.Context, s.Host, s.CA)
	if err != nil {
		return err
	}
	host, err := client.New(client.Config{Host: s.Host, KeyID: s.KeyID, Secret: s.Secret, CA: ca, Region: invocation.GlobalFlag(c, "region")})
	if err != nil {
		return err
	}
	if err := host.Call(c.Context, "ListClusters", struct{}{}, nil); err != nil { // every role may
		return fmt.Errorf("%s refuses the access key of the connection string: %w", s.Host, err)
	}
	login := invocation.Login{Host: s.Host, KeyID: s.KeyID, Secret: s.Secret}
	if err := login.Save(context, ca); err != nil {
		return fmt.Errorf("the connection string is good, and cannot be kept: %w", err)
	}
	_, err = fmt.Fprintln(c.App.Writer, format.Plain(fmt.Sprintf("Logged in to %s with the access key %s as context %s", s.Host, s.KeyID, context)))
	return err
}

// readString reads a line, which a terminal does not show.
func readString(in io.Reader, out io.Writer) (string, error) {
	if terminal, is := in.(*os.File); is && term.IsTerminal(int(terminal.Fd())) {
		text, err := invocation.AskSecret(terminal, out, "Connection string: ")
		return string(text), err
	}
	lines := bufio.NewScanner(io.LimitReader(in, maxStringSize))
	if !lines.Scan() {
		return "", exit.Usagef("standard input has no connection string; `pinion key create` prints one")
	}
	return lines.Text(), lines.Err()
}
