package complete

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
)

// Script is the command `pinion completion`.
func Script() *cli.Command {
	return &cli.Command{
		Name:      "completion",
		Usage:     "Print the completion script for a shell",
		ArgsUsage: "bash|zsh|fish",
		Description: `It completes commands, options and what the pool has: tasks, hosts, groups, teams and so on, of the pool that the line is about. When that does
not answer within half a second, there is nothing to complete. bash has to be version 4 or later.

Examples:
   source <(pinion completion bash)      # in ~/.bashrc
   source <(pinion completion zsh)       # in ~/.zshrc, behind compinit
   pinion completion fish | source       # in ~/.config/fish/config.fish`,
		Action: func(c *cli.Context) error {
			script, known := scripts[c.Args().First()]
			if !known || c.NArg() > 1 {
				return exit.Usagef("there is completion for %s, not for %q", strings.Join(slices.Sorted(maps.Keys(scripts)), ", "), strings.Join(c.Args().Slice(), " "))
			}
			_, err := fmt.Fprint(c.App.Writer, script)
			return err
		},
	}
}

// scripts ask the program itself (Command). None of them evaluates what it is told: the first line says how to go on, the others are offered as
// they are, quoted by the program for bash, and by zsh and fish themselves.
var scripts = map[string]string{
	"bash": `_pinion() {
  local program=${COMP_WORDS[0]} answer
  type -P -- "$program" >/dev/null || program=pinion
  mapfile -t answer < <("$program" __complete bash "${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" 2>/dev/null </dev/null)
  case ${answer[0]} in
    files) compopt -o default ;;
    nospace) compopt -o nospace ;;
  esac
  COMPREPLY=("${answer[@]:1}")
}
complete -F _pinion pinion
`,
	"zsh": `#compdef pinion
_pinion() {
  local program=${words[1]} answer line
  local -a offers shown
  whence -p -- "$program" >/dev/null || program=pinion
  answer=("${(@f)$("$program" __complete zsh "${(j: :)words[1,CURRENT-1]} $QIPREFIX$PREFIX" 2>/dev/null </dev/null)}")
  if [[ $answer[1] == files ]]; then _files; return; fi
  for line in "${(@)answer[2,-1]}"; do
    offers+=("${line%%$'\t'*}")
    shown+=("${line%%$'\t'*}${${line#*$'\t'}:+  -- ${line#*$'\t'}}")
  done
  if [[ $answer[1] == nospace ]]; then compadd -S '' -a -- offers; else compadd -V pinion -l -d shown -a -- offers; fi
}
if [[ $funcstack[1] == _pinion ]]; then _pinion "$@"; else compdef _pinion pinion; fi
`,
	"fish": `function __pinion_complete
    set -l program (commandline -opc)[1]
    string match -qr '(^|/)pinion$' -- "$program"; and type -q -- "$program"; or set program pinion
    set -l answer ($program __complete fish (commandline -cp | string collect) 2>/dev/null </dev/null)
    if test "$answer[1]" = files
        __fish_complete_path (commandline -ct)
    else if set -q answer[2]
        printf '%s\n' $answer[2..-1]
    end
end
complete -c pinion -f -a '(__pinion_complete)'
`,
}
