package cli

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
)

func completionCommand() *cli.Command {
	return &cli.Command{
		Name:      "completion",
		Usage:     "Print a completion script for a shell",
		ArgsUsage: "bash|zsh",
		Description: `Examples:
   source <(pinion completion bash)
   pinion completion bash > /etc/bash_completion.d/pinion
   source <(pinion completion zsh)`,
		Action: func(c *cli.Context) error {
			script, known := completionScripts[c.Args().First()]
			if !known {
				return exit.Usagef("there is completion for bash and zsh, not for %q", c.Args().First())
			}
			_, err := fmt.Fprint(c.App.Writer, script)
			return err
		},
	}
}

// completionScripts ask the program itself, which answers with one word a line when the last argument is
// --generate-bash-completion.
var completionScripts = map[string]string{
	"bash": `_pinion() {
  local words=("${COMP_WORDS[@]:0:COMP_CWORD}") current="${COMP_WORDS[COMP_CWORD]}"
  [[ $current == -* ]] && words+=("$current")
  COMPREPLY=($(compgen -W "$("${words[@]}" --generate-bash-completion 2>/dev/null)" -- "$current"))
}
complete -o default -F _pinion pinion
`,
	"zsh": `#compdef pinion
_pinion() {
  local -a asked answers
  asked=("${(@)words[1,CURRENT-1]}")
  [[ ${words[CURRENT]} == -* ]] && asked+=("${words[CURRENT]}")
  answers=("${(@f)$("${asked[@]}" --generate-bash-completion 2>/dev/null)}")
  if [[ -n ${answers[1]} ]]; then compadd -- "${answers[@]%%:*}"; else _files; fi
}
compdef _pinion pinion
`,
}
