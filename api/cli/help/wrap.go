package help

import (
	"strings"
	"unicode/utf8"

	"pinion/api/cli/format"
)

// description is a text of paragraphs, wrapped. Lines below "Examples:" are commands, and stay lines; other lines that begin with a blank are the
// items of a list, which go on in the lines that are indented further.
func description(text string) string {
	var lines, paragraph []string
	indent, examples := "", false
	end := func() {
		if len(paragraph) == 0 {
			return
		}
		for i, line := range format.Wrap(strings.Join(paragraph, " "), width-2*len(indent)) {
			lines = append(lines, indent+strings.Repeat(" ", min(i, 1)*len(indent))+line)
		}
		paragraph = nil
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, " ") && examples:
			end()
			lines = append(lines, example(line)...)
		case line == "" || line == "Examples:":
			end()
			lines, indent, examples = append(lines, line), "", line != ""
		case strings.HasPrefix(line, itemIndent) && (indent == "" || line[len(itemIndent)] != ' '):
			end()
			indent, paragraph = itemIndent, []string{line}
		case indent != "" && !strings.HasPrefix(line, itemIndent):
			end()
			indent, paragraph = "", []string{line}
		default:
			paragraph = append(paragraph, line)
		}
	}
	end()
	return strings.Join(lines, "\n")
}

// itemIndent is before the items of a list, and before examples.
const itemIndent = "   "

// example is a command in a description. One that is too long has its comment above it, and is continued on further lines; what is in quotes stays
// together.
func example(line string) []string {
	if utf8.RuneCountInString(line) <= width {
		return []string{line}
	}
	var lines []string
	command, comment, found := strings.Cut(line, "   #")
	if found {
		lines = append(lines, itemIndent+"#"+comment)
	}
	part := ""
	for _, word := range shellWords(command) {
		if part != "" && utf8.RuneCountInString(part)+1+utf8.RuneCountInString(word) > width-len(itemIndent)-2 {
			lines, part = append(lines, itemIndent+part+` \`), "   "
		}
		part = strings.TrimPrefix(part+" "+word, " ")
	}
	return append(lines, itemIndent+part)
}

// shellWords are the words of a command, with their quotes; blanks inside of quotes stay, but for those of "$(COMMAND)", whose words are a shell's too.
func shellWords(command string) (words []string) {
	word, quote := "", rune(0)
	for at, letter := range command {
		switch {
		case letter == ' ' && quote == 0:
			if word != "" {
				words, word = append(words, word), ""
			}
			continue
		case letter == quote:
			quote = 0
		case quote == 0 && (letter == '\'' || letter == '"' && !strings.HasPrefix(command[at:], `"$(`) && !strings.HasPrefix(command[max(0, at-1):], `)"`)):
			quote = letter
		}
		word += string(letter)
	}
	if word != "" {
		words = append(words, word)
	}
	return words
}
