package cli

import (
	"path/filepath"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/client"
)

// DefaultDataDir is where a host keeps everything unless it is told otherwise.
const DefaultDataDir = "/var/lib/pinion"

// globalFlags say which host to talk to, and how to answer. They may stand before the command or after it.
func globalFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "data-dir", Value: DefaultDataDir, EnvVars: []string{"PINION_DATA_DIR"}, Usage: "`DIR` in which a host on this machine keeps everything"},
		&cli.StringFlag{Name: "host", EnvVars: []string{"PINION_HOST"}, Usage: "talk to the host at `HOST:PORT` instead, with an access key"},
		&cli.StringFlag{Name: "key-id", EnvVars: []string{"AWS_ACCESS_KEY_ID"}, Usage: "`ID` of the access key for --host"},
		&cli.StringFlag{Name: "secret", EnvVars: []string{"AWS_SECRET_ACCESS_KEY"}, Usage: "`SECRET` of the access key; better kept in the environment"},
		&cli.StringFlag{Name: "ca", EnvVars: []string{"PINION_CA", "AWS_CA_BUNDLE"}, Usage: "`FILE` with the CA that signed the certificate of --host"},
		&cli.StringFlag{Name: "region", EnvVars: []string{"AWS_REGION", "AWS_DEFAULT_REGION"}, Usage: "`REGION` to sign requests to --host for", Value: client.DefaultRegion},
		&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Value: outputTable, Usage: "`FORMAT` of answers: table, wide, json"},
	}
}

// commandFlags are the global flags for the place after the command: without defaults, so that it shows whether they
// were given there.
func commandFlags() []cli.Flag {
	var flags []cli.Flag
	for _, flag := range globalFlags() {
		global := flag.(*cli.StringFlag)
		shown := global.Name == "data-dir" || global.Name == "output"
		flags = append(flags, &cli.StringFlag{Name: global.Name, Aliases: global.Aliases, Usage: global.Usage, Hidden: !shown})
	}
	return flags
}

// globalFlag is the value of a global flag; after the command wins over before it, and both over the environment.
func globalFlag(c *cli.Context, name string) string {
	lineage := c.Lineage()
	for _, level := range lineage {
		if level.IsSet(name) {
			return level.String(name)
		}
	}
	return lineage[len(lineage)-2].String(name) // the application's own context; the last one carries no flags
}

// dataDir treats an empty PINION_DATA_DIR as one that is not set.
func dataDir(c *cli.Context) string {
	if dir := globalFlag(c, "data-dir"); dir != "" {
		return dir
	}
	return DefaultDataDir
}

// connection is what the global flags say about the host to talk to.
func connection(c *cli.Context) client.Config {
	return client.Config{
		Socket: filepath.Join(dataDir(c), "pinion.sock"),
		Host:   globalFlag(c, "host"),
		KeyID:  globalFlag(c, "key-id"),
		Secret: globalFlag(c, "secret"),
		CAFile: globalFlag(c, "ca"),
		Region: globalFlag(c, "region"),
	}
}
