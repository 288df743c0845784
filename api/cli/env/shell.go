package env

import (
	"net/url"
	"strings"

	"pinion/api/cli/exit"
)

// ShellCommands is the environment as commands of a shell.
func ShellCommands(variables []Variable, shell string) (string, error) {
	var text strings.Builder
	for _, v := range variables {
		switch {
		case shell == "fish" && v.Unset:
			text.WriteString("set -e " + v.Name + "\n")
		case shell == "fish":
			text.WriteString("set -gx " + v.Name + " " + quoteFish(v.Value) + "\n")
		case shell != "sh" && shell != "bash" && shell != "zsh":
			return "", exit.Usagef("--shell %q is not one of sh, bash, zsh, fish", shell)
		case v.Unset:
			text.WriteString("unset " + v.Name + "\n")
		default:
			text.WriteString("export " + v.Name + "=" + quoteShell(v.Value) + "\n")
		}
	}
	return text.String(), nil
}

// quoteShell quotes text so that a POSIX shell takes it literally.
func quoteShell(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// quoteFish quotes text so that fish takes it literally.
func quoteFish(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(text) + "'"
}

// envDocument maps names to values; null is a variable that must not be set.
func envDocument(variables []Variable) map[string]*string {
	document := map[string]*string{}
	for _, v := range variables {
		document[v.Name] = nil
		if !v.Unset {
			document[v.Name] = &v.Value
		}
	}
	return document
}

func endpointHost(endpoint string) string {
	address, err := url.Parse(endpoint)
	if err != nil {
		return endpoint
	}
	return address.Hostname()
}
