package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unsafe"

	"pinion/api/cli/exit"
)

// maxJoinTokenBytes bounds what is read of a token file; a token has some 90 characters.
const maxJoinTokenBytes = 4096

// readJoinToken reads the join token from --token-file, and hides one that was given as an argument from the list of processes.
func (u *UpConfig) readJoinToken(stdin io.Reader) error {
	if u.JoinTokenFile == "" {
		u.JoinToken = hideArgument(u.JoinToken)
		return nil
	}
	if u.JoinToken != "" {
		return exit.Usagef("--token-file and --token (PINION_TOKEN) both name a join token: use one of them")
	}
	in := stdin
	if u.JoinTokenFile != "-" {
		file, err := os.Open(u.JoinTokenFile)
		if err != nil {
			return fmt.Errorf("--token-file: %w", err)
		}
		defer file.Close()
		in = file
	}
	text, err := io.ReadAll(io.LimitReader(in, maxJoinTokenBytes))
	if err != nil {
		return fmt.Errorf("--token-file %s: %w", u.JoinTokenFile, err)
	}
	if u.JoinToken = strings.TrimSpace(string(text)); u.JoinToken == "" {
		return fmt.Errorf("--token-file %s: there is no token in it; `pinion token` on a host of the pool prints one", u.JoinTokenFile)
	}
	return nil
}

// hideArgument returns a copy of a secret and overwrites the arguments of this process that hold it: everybody on the machine can
// read those for as long as the process lives. On Linux the strings of os.Args are that memory.
func hideArgument(secret string) string {
	kept := strings.Clone(secret)
	if kept == "" {
		return kept
	}
	for _, argument := range os.Args {
		if at := strings.Index(argument, kept); at >= 0 {
			memory := unsafe.Slice(unsafe.StringData(argument), len(argument))
			for i := at; i < at+len(kept); i++ {
				memory[i] = 'x'
			}
		}
	}
	return kept
}
