package cli

import (
	"cmp"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/help"
	"pinion/api/upgrade"
)

// categories group the commands in the help; groups is their order.
var (
	groups     = []string{"Tasks", "Hosts", "Access", "State and tools", "This machine"}
	categories = map[string]string{
		"run": "Tasks", "register": "Tasks", "ps": "Tasks", "queue": "Tasks", "why": "Tasks", "stats": "Tasks", "inspect": "Tasks", "logs": "Tasks", "exec": "Tasks", "attach": "Tasks", "cp": "Tasks", "port-forward": "Tasks", "shell": "Tasks", "stop": "Tasks", "events": "Tasks", "usage": "Tasks",
		"service": "Tasks", "daemon": "Tasks", "secret": "Tasks", "image": "Tasks", "volume": "Tasks", "task": "Tasks", "definition": "Tasks",
		"host": "Hosts", "gpu": "Hosts", "top": "Hosts", "drain": "Hosts", "activate": "Hosts",
		"env": "Access", "login": "Access", "context": "Access", "whoami": "Access", "oidc": "Access", "key": "Access", "role": "Access", "ca": "Access", "certificate": "Access", "token": "Access", "team": "Access", "limits": "Access", "audit": "Access",
		"init": "Hosts", "upgrade": "Hosts", "demo": "This machine", "up": "This machine", "down": "This machine", "leave": "This machine", "doctor": "This machine", "unlock": "This machine", upgrade.GuardName: "This machine", "recover": "This machine",
	}
)

// helpGroups are the commands by their categories; what has none is a tool.
func helpGroups(commands []*cli.Command) []help.Group {
	all := make([]help.Group, len(groups))
	for i, name := range groups {
		all[i].Name = name
		for _, command := range commands {
			if command.Name != "help" && cmp.Or(categories[command.Name], "State and tools") == name {
				all[i].Commands = append(all[i].Commands, command)
			}
		}
	}
	return all
}
