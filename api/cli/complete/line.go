package complete

import (
	"os"
	"path/filepath"
	"strings"

	"pinion/raftfsm/lazyregexp"
)

// quoting is how a word that is not finished is quoted at its end.
type quoting byte

const (
	unquoted quoting = 0
	single   quoting = '\''
	double   quoting = '"'
)

// word is a word of a command line without its quotes. Nothing in it is carried out: `$(...)` and backquotes stay as they are.
type word struct {
	text  string
	quote quoting // that is still open at its end
	from  int     // where in text the part begins that bash completes: behind an open quote, a colon or an equals sign
}

// line reads the words of a command line up to the cursor; the last one, which may be empty, is the word to complete.
type line struct {
	words []word
	text  strings.Builder
	open  bool // a word has begun
	from  int
}

// split takes a command line apart as a shell would, without expanding anything but variables of the environment and a ~ at the
// beginning, as in --data-dir ~/pool. breaks are characters at which bash begins a word of its own to complete.
func split(text, breaks string) []word {
	var l line
	quote, before := unquoted, 0 // before is where the part began before the quote
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\' && quote != single && i+1 < len(text):
			i++
			if quote == double && !strings.ContainsRune("$`\"\\!", rune(text[i])) {
				l.add('\\')
			}
			l.add(text[i])
		case quote == unquoted && (c == byte(single) || c == byte(double)):
			before, quote, l.open, l.from = l.from, quoting(c), true, l.text.Len()
		case quote != unquoted && c == byte(quote):
			quote, l.from = unquoted, before
		case c == '$' && quote != single:
			i += l.variable(text[i:])
		case c == '~' && quote == unquoted && !l.open && (i+1 == len(text) || text[i+1] == '/' || text[i+1] == ' '):
			home, _ := os.UserHomeDir()
			l.addText(home)
		case quote == unquoted && (c == ' ' || c == '\t' || c == '\n'):
			l.end(unquoted)
		default:
			l.add(c)
			if quote == unquoted && strings.IndexByte(breaks, c) >= 0 {
				l.from = l.text.Len()
			}
		}
	}
	l.open = true
	l.end(quote)
	return l.words
}

func (l *line) add(c byte) { l.text.WriteByte(c); l.open = true }

func (l *line) addText(text string) { l.text.WriteString(text); l.open = true }

// end ends the current word, if there is one.
func (l *line) end(quote quoting) {
	if l.open {
		l.words = append(l.words, word{l.text.String(), quote, l.from})
	}
	l.text.Reset()
	l.open, l.from = false, 0
}

var variableName = lazyregexp.New(`^\$(?:([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\})`)

// variable adds the value of the variable that the text begins with, or the text itself, and returns how many more bytes it has read.
func (l *line) variable(text string) int {
	if name := variableName.FindStringSubmatch(text); name != nil {
		if value, set := os.LookupEnv(name[1] + name[2]); set {
			l.addText(value)
			return len(name[0]) - 1
		}
	}
	l.add('$')
	return 0
}

// ofProgram are the words from the program's name on: fish gives variables and words such as `not` before it.
func ofProgram(words []word, program string) []word {
	for i, w := range words[:len(words)-1] {
		if filepath.Base(w.text) == program {
			return words[i:]
		}
	}
	return words
}

// bare is what bash takes in a word without quotes.
var bare = lazyregexp.New(`^[A-Za-z0-9_./:=@%+,-]$`)

// forBash is a candidate as bash has to insert it, which inserts it as it is: the part from where the word is completed, quoted as the word
// is. There is none ("", false) where no quoting would keep it from being expanded.
func forBash(value string, at word) (text string, possible bool) {
	if at.from > len(value) {
		return "", false
	}
	value = value[at.from:]
	switch at.quote {
	case single:
		return strings.ReplaceAll(value, "'", `'\''`), true
	case double:
		return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(value), !strings.Contains(value, "!")
	}
	var quoted strings.Builder
	for _, r := range value {
		if r < 0x80 && !bare.MatchString(string(r)) {
			quoted.WriteByte('\\')
		}
		quoted.WriteRune(r)
	}
	return quoted.String(), true
}
