// Package complete answers a shell that completes a command line of pinion: commands, options, and values out of the pool. It never
// says that something failed, asks the pool for a bounded time, and hands out no secret.
package complete

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
)

// Limit is how long a shell waits for its answer at most, whatever hangs.
const Limit = 500 * time.Millisecond

const (
	maxOffers   = 200 // more of them nobody reads; another letter narrows them
	longestHelp = 60
)

// How the shell goes on, the first line of every answer.
const (
	values  = "values"
	nospace = "nospace" // values that a user goes on writing
	files   = "files"   // the shell's own
)

// offer is what a word may become, with what the shells that show it say of it.
type offer struct{ value, about string }

// answer is what a word may become.
type answer struct {
	how    string
	offers []offer
}

// Command is the hidden command that the scripts of the shells call: SHELL and the command line up to the cursor, for bash also
// COMP_WORDBREAKS. It answers within the limit; run carries out another command line of the program.
func Command(system invocation.System, run Run, limit time.Duration) *cli.Command {
	return &cli.Command{
		Name: "__complete", Hidden: true, ArgsUsage: "SHELL LINE [BREAKS]",
		Action: func(c *cli.Context) error {
			breaks := ""
			if c.Args().First() == "bash" {
				breaks = c.Args().Get(2)
			}
			words := ofProgram(split(c.Args().Get(1), breaks), c.App.Name)
			return write(c.App.Writer, c.Args().First(), words[len(words)-1], inTime(c, system, run, limit, words))
		},
	}
}

// inTime is the answer, or none when it takes too long: a disk or a host that hangs must not keep a shell. The pool is asked a little
// shorter, for what it has said by then is an answer, too.
func inTime(c *cli.Context, system invocation.System, run Run, limit time.Duration, words []word) answer {
	ctx, cancel := context.WithTimeout(c.Context, limit*4/5)
	defer cancel()
	answered := make(chan answer, 1)
	go func() {
		texts := make([]string, len(words))
		for i, w := range words {
			texts[i] = w.text
		}
		p := parse(c.App, texts)
		answered <- p.answer(source{ctx: ctx, c: c, system: system, run: run, line: p})
	}()
	select {
	case a := <-answered:
		return a
	case <-time.After(limit):
		return answer{how: values}
	}
}

// write prints the answer: how the shell goes on, and then an offer a line.
func write(w io.Writer, shell string, at word, a answer) error {
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, cmp.Or(a.how, values))
	seen := map[string]bool{}
	for _, o := range a.offers {
		if seen[o.value] || o.value == "" || !strings.HasPrefix(o.value, at.text) || format.Plain(o.value) != o.value || strings.ContainsAny(o.value, "\n\t") {
			continue
		}
		if seen[o.value] = true; len(seen) > maxOffers {
			break
		}
		if shell != "bash" {
			fmt.Fprintf(out, "%s\t%s\n", o.value, short(o.about))
		} else if text, possible := forBash(o.value, at); possible {
			fmt.Fprintln(out, text)
		}
	}
	return out.Flush()
}

// short is a description on one line.
func short(text string) string {
	text = strings.Join(strings.Fields(strings.ReplaceAll(format.Plain(text), "`", "")), " ")
	if letters := []rune(text); len(letters) > longestHelp {
		text = string(letters[:longestHelp-1]) + "…"
	}
	return text
}

// answer is what the last word of the line may become.
func (p parsed) answer(s source) answer {
	switch {
	case p.containers:
		return answer{how: files}
	case p.flag != nil:
		a := s.values(p.flagKind(p.flag))
		for i := range a.offers {
			a.offers[i].value = p.prefix + a.offers[i].value
		}
		return a
	case strings.HasPrefix(p.word, "-") && !p.noFlags:
		return answer{offers: flagOffers(p.command)}
	}
	a := s.values(p.argumentKind())
	if p.arguments == nil {
		a.offers = append(commandOffers(p.command.Subcommands), a.offers...)
	}
	return a
}

// commandOffers are the commands that the help shows.
func commandOffers(commands []*cli.Command) (offers []offer) {
	for _, command := range commands {
		if !command.Hidden {
			offers = append(offers, offer{command.Name, command.Usage})
		}
	}
	return offers
}

// flagOffers are the long options of a command that its help shows, and those of every command.
func flagOffers(command *cli.Command) (offers []offer) {
	for _, flag := range slices.Concat(command.Flags, invocation.GlobalFlags(), []cli.Flag{cli.HelpFlag}) {
		if visible, is := flag.(cli.VisibleFlag); is && !visible.IsVisible() {
			continue
		}
		about := ""
		if documented, is := flag.(cli.DocGenerationFlag); is {
			about = documented.GetUsage()
		}
		offers = append(offers, offer{"--" + flag.Names()[0], about})
	}
	return offers
}
