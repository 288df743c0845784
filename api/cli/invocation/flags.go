package invocation

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"pinion/api/client"
)

// DefaultDataDir is the default data directory of a host.
const DefaultDataDir = "/var/lib/pinion"

// keySecret is the flag for the secret of an access key.
const keySecret = "key-secret"

// GlobalFlags say which host to talk to, and how to answer. They may stand before the command or after it.
func GlobalFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "data-dir", Value: DefaultDataDir, EnvVars: []string{"PINION_DATA_DIR"}, Usage: "data directory `DIR` of the host on this machine"},
		&cli.StringFlag{Name: "host", EnvVars: []string{"PINION_HOST"}, Usage: "connect to the host at `HOST[:PORT]` with an access key, instead of the one on this machine"},
		&cli.StringFlag{Name: "context", EnvVars: []string{"PINION_CONTEXT"}, Usage: "use the login `NAME` of pinion login --context, instead of the current one"},
		&cli.StringFlag{Name: "key-id", Usage: "`ID` of the access key to act with; else PINION_ACCESS_KEY_ID, else AWS_ACCESS_KEY_ID (pinion whoami --help)"},
		&cli.StringFlag{Name: keySecret, Aliases: []string{"secret"}, Usage: "`SECRET` of that key; safer in PINION_SECRET_ACCESS_KEY or AWS_SECRET_ACCESS_KEY. Behind run, shell and service create, --secret is one of the task"},
		&cli.StringFlag{Name: "ca", EnvVars: []string{"PINION_CA", "AWS_CA_BUNDLE"}, Usage: "`FILE` with the CA of --host"},
		&cli.StringFlag{Name: "region", EnvVars: []string{"AWS_REGION", "AWS_DEFAULT_REGION"}, Usage: "`REGION` in signatures of requests to --host", Value: client.DefaultRegion},
		&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Value: Table, Usage: "output `FORMAT`: table, wide, json"},
		&cli.BoolFlag{Name: "utc", Usage: "show times in UTC, not in local time"},
	}
}

// CommandFlags are the global flags after a command with flags of its own, whose names go before further names of the global ones: without
// defaults, so that one can tell whether they were given there.
func CommandFlags(own []cli.Flag) []cli.Flag {
	var taken []string
	for _, flag := range own {
		taken = append(taken, flag.Names()...)
	}
	var flags []cli.Flag
	for _, flag := range GlobalFlags() {
		global, isText := flag.(*cli.StringFlag)
		if !isText {
			flags = append(flags, &cli.BoolFlag{Name: flag.Names()[0], Usage: flag.(*cli.BoolFlag).Usage, Hidden: true})
			continue
		}
		aliases := slices.DeleteFunc(slices.Clone(global.Aliases), func(name string) bool { return slices.Contains(taken, name) })
		shown := global.Name == "data-dir" || global.Name == "output"
		flags = append(flags, &cli.StringFlag{Name: global.Name, Aliases: aliases, Usage: global.Usage, Hidden: !shown})
	}
	return flags
}

// KeyOnLine reports whether a command line names an access key without its secret, which may be meant by a --secret of the command's own.
func KeyOnLine(c *cli.Context) bool {
	return GlobalFlag(c, "key-id") != "" && GlobalFlag(c, keySecret) == ""
}

// GlobalFlag returns the value of a global flag: after the command overrides before it, and both override the environment.
func GlobalFlag(c *cli.Context, name string) string {
	lineage := c.Lineage()
	for _, level := range lineage {
		if level.IsSet(name) {
			return level.String(name)
		}
	}
	return lineage[len(lineage)-2].String(name) // the application's own context; the last one carries no flags
}

// UTC reports whether times are to be shown in UTC.
func UTC(c *cli.Context) bool {
	return slices.ContainsFunc(c.Lineage()[:len(c.Lineage())-1], func(level *cli.Context) bool { return level.Bool("utc") })
}

// DataDir treats an empty PINION_DATA_DIR as one that is not set.
func DataDir(c *cli.Context) string {
	if dir := GlobalFlag(c, "data-dir"); dir != "" {
		return dir
	}
	return DefaultDataDir
}

// ClusterFlag is the flag of every command that works with tasks.
func ClusterFlag() cli.Flag {
	return &cli.StringFlag{Name: "cluster", Value: "default", Usage: "`NAME` of the cluster"}
}

// DryRun is the flag with which a command that destroys something shows what that would be, and changes nothing.
const DryRun = "dry-run"

// DryRunFlag is that flag; what is what the command does, such as "stopped".
func DryRunFlag(what string) cli.Flag {
	return &cli.BoolFlag{Name: DryRun, Usage: "show what would be " + what + ", and change nothing"}
}

// OwnTasksFlag is the flag of commands that can leave out the tasks of others.
func OwnTasksFlag(does string) cli.Flag {
	return &cli.BoolFlag{Name: "mine", Usage: does + " only tasks that your access key or your login ran (as root: those that no key ran)"}
}

// ResemblesFlag reports whether an argument was probably meant as a flag.
func ResemblesFlag(argument string) bool {
	return len(argument) > 1 && strings.HasPrefix(argument, "-")
}
