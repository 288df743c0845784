package cli

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/configfile"
	"pinion/api/cli/exit"
	"pinion/api/cli/invocation"
	"pinion/api/cli/unlock"
	"pinion/raftfsm/lazyregexp"
	"pinion/raftfsm/spec"
)

const upDescription = `Starts the container runtime, the control plane and the agent of this machine, and runs until it is stopped
(Ctrl-C, SIGTERM). Tasks run on while pinion is stopped and are adopted at the next start.

Options may stand in /etc/pinion/config.yaml, or in the file of --config, under the same names: 'gpus: auto', 'user-namespaces: true',
'volume: [/data, "models=/mnt/models:ro"]'. One on the command line goes first, then one of the environment. Settings of the pool
(--servers, --replace-after, --lost-after) are not options of the file: 'pinion pool set' changes them.

Examples:
   sudo pinion up
   sudo pinion up --name gpu-7 --config /srv/pinion.yaml
   sudo pinion up --data-dir /tmp/one --listen 127.0.0.1:7401 --gpus sim:8xh100
   sudo pinion up --volume /data --volume models=/mnt/models:ro      # host directories that tasks may mount
   sudo pinion up --file-system models=nfs:10.0.0.5:/models,ro       # what fileSystemId of efsVolumeConfiguration names
   sudo pinion up --device /dev/fuse --device /dev/infiniband        # devices that containers may have
   sudo pinion up --bucket team=/srv/team                            # files arn:aws:s3:::team/KEY.env of environmentFiles
   sudo pinion up --attribute ecs.instance-type=p2.xlarge --attribute rack=a4
   ssh root@gpu-1 pinion token | sudo pinion up --join gpu-1 --token-file -`

func upCommand(up func(context.Context, UpConfig) error) *cli.Command {
	var config UpConfig
	var attributes cli.StringSlice
	var containers containerFlags
	var names nameFlags
	var virtualIPs virtualIPFlags
	var level string
	var releaseKeys cli.StringSlice
	return &cli.Command{
		Name:        "up",
		Usage:       "Start this machine as a host, in the foreground",
		Description: upDescription,
		Flags:       slices.Concat(upFlags(&config, &attributes, &level), containers.flags(&config.Containers), names.flags(&config.Containers.Names), config.Traffic.ACME.flags(), virtualIPs.flags(), config.Telemetry.Flags(), releaseKeyFlags(&releaseKeys)),
		Action: func(c *cli.Context) error {
			err := useFile(c)
			if err != nil {
				return err
			}
			if err := config.readJoinToken(c.App.Reader); err != nil {
				return err
			}
			config.Traffic.VirtualIPs, err = virtualIPs.complete()
			if err := exit.Join(
				checkPositive(c, "replace-after"), checkPositive(c, "lost-after"), config.complete(invocation.DataDir(c), attributes.Value(), level),
				containers.complete(&config.Containers), names.complete(&config.Containers.Names), config.Traffic.ACME.complete(), config.Telemetry.Complete(), config.completeReleaseKeys(releaseKeys.Value()), err,
			); err != nil {
				return err
			}
			if err := localMachine().check(); err != nil {
				return err
			}
			if config.Unlock, err = unlock.Secret(c, config.DataDir); err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(c.Context, syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			context.AfterFunc(ctx, stop) // a second signal ends the process the hard way
			if err := up(ctx, config); err != nil {
				return err
			}
			if ctx.Err() != nil {
				fmt.Fprintln(c.App.ErrWriter, "pinion has stopped; its tasks run on until `pinion down` ends them")
			}
			return nil
		},
	}
}

// checkPositive refuses 0, which would mean the default without a word.
func checkPositive(c *cli.Context, name string) error {
	if c.IsSet(name) && c.Duration(name) <= 0 {
		return exit.Usagef("--%s %s is not a duration above 0, such as 90s or 5m", name, c.Duration(name))
	}
	return nil
}

// useFile sets the flags that nothing else has set as the file of options says, and tells that there is one.
func useFile(c *cli.Context) error {
	file, err := configfile.Apply(c)
	if err == nil && file != "" {
		fmt.Fprintf(c.App.ErrWriter, "options of %s are used\n", file)
	}
	return err
}

func upFlags(config *UpConfig, attributes *cli.StringSlice, level *string) []cli.Flag {
	return append([]cli.Flag{
		configfile.Flag(),
		&cli.StringFlag{Name: "name", Destination: &config.Name, DefaultText: "the machine's host name", Usage: "`NAME` of this host in lists and commands"},
		&cli.StringFlag{Name: "listen", Value: ":7400", Destination: &config.Listen, Usage: "`ADDRESS` of the TLS port"},
		&cli.StringFlag{Name: "advertise", Destination: &config.Advertise, DefaultText: "auto-detected", Usage: "`HOST:PORT` by which clients and other hosts reach this host"},
		&cli.StringFlag{Name: "gpus", Value: "auto", Destination: &config.GPUs.Source, Usage: "`SOURCE` of GPUs: auto, none, or simulated GPUs such as sim:8xh100, sim:4xh100+2xt4 or, with MIG devices, sim:1xh100/7x1g.10gb. With ,mps after it (auto,mps) tasks may share GPUs, each kept to its memory by NVIDIA's Multi-Process Service; simulated GPUs enforce nothing"},
		&cli.StringFlag{Name: "mig", Value: MIGStatic, Destination: &config.GPUs.MIG, Usage: "`MODE` of MIG partitioning: static, only by you, or dynamic, where the pool repartitions for the profiles that tasks request"},
		&cli.StringFlag{Name: "containerd", Destination: &config.Containerd, DefaultText: "built in", Usage: "use the machine's own containerd at this `SOCKET`"},
		&cli.StringSliceFlag{Name: "attribute", Destination: attributes, Usage: "custom attribute `NAME=VALUE` for placement constraints; may be repeated"},
		&cli.StringFlag{Name: "cluster", Destination: &config.Cluster, DefaultText: "that of the join token, or default", Usage: "`NAME` of the cluster whose tasks this host runs"},
		&cli.BoolFlag{Name: "access-log", Destination: &config.Traffic.AccessLog, Usage: "write a line for each request of load balancers that this host carries, into access/ of the data directory"},
		&cli.StringFlag{Name: "log-level", Value: "info", Destination: level, Usage: "minimum `LEVEL` to log: debug, info, warn, error"},
		&cli.StringFlag{Name: "join", Destination: &config.Join, DefaultText: "create a pool", Usage: "join the pool of the host at `HOST[:PORT]`"},
		&cli.StringFlag{Name: "token-file", Destination: &config.JoinTokenFile, Usage: "`FILE` with the join token, required the first time; - reads it from standard input"},
		&cli.StringFlag{Name: "token", Destination: &config.JoinToken, EnvVars: []string{"PINION_TOKEN"}, Usage: "the join `TOKEN` itself; safer in a file or the environment"},
		&cli.IntFlag{Name: "servers", Destination: &config.NewPool.Servers, DefaultText: "3", Usage: "of a new pool: `N` voting servers, 1, 3 or 5"},
		&cli.DurationFlag{Name: "replace-after", Destination: &config.NewPool.ReplaceAfter, DefaultText: "5m", Usage: "of a new pool: `TIME` until another host replaces an unreachable server"},
		&cli.DurationFlag{Name: "lost-after", Destination: &config.NewPool.LostAfter, DefaultText: "1m", Usage: "of a new pool: `TIME` until the tasks of an unreachable host are marked STOPPED"},
		unlock.Flag(""),
		&cli.StringFlag{Name: "registry-config", Value: DefaultRegistryConfig, Destination: &config.RegistryConfig, EnvVars: []string{"PINION_REGISTRY_CONFIG"}, Usage: "`DIR` with registry logins (config.json) and mirrors (certs.d)"},
	}, diskFlags(&config.Disk)...)
}

var (
	gpuSource = lazyregexp.New(`^(none|(auto|sim:[1-9][0-9]*x[a-z0-9]+[/x+.a-z0-9]*)(,mps)?)$`)
	attribute = lazyregexp.New(`^[A-Za-z0-9_./\\-]{1,128}$`)
)

// complete sets the fields that flags cannot set directly, and checks the form of all. The error is all that is wrong.
func (u *UpConfig) complete(dataDir string, attributes []string, level string) error {
	var err error
	if u.DataDir, err = filepath.Abs(dataDir); err != nil {
		return fmt.Errorf("--data-dir %s: %w", dataDir, err)
	}
	wrong := []error{nil, u.completeRegistry(), u.check()}
	u.Attributes, wrong[0] = parseAttributes(attributes)
	if u.LogLevel.UnmarshalText([]byte(level)) != nil {
		wrong = append(wrong, exit.Usagef("--log-level %q is not one of debug, info, warn, error", level))
	}
	return exit.Join(wrong...)
}

func (u *UpConfig) completeRegistry() (err error) {
	if u.RegistryConfig != "" {
		if u.RegistryConfig, err = filepath.Abs(u.RegistryConfig); err != nil {
			return fmt.Errorf("--registry-config %s: %w", u.RegistryConfig, err)
		}
		if info, err := os.Stat(u.RegistryConfig); u.RegistryConfig != DefaultRegistryConfig && (err != nil || !info.IsDir()) {
			return exit.Usagef("--registry-config %s: there is no such directory", u.RegistryConfig)
		}
	}
	return nil
}

func (u *UpConfig) check() error {
	wrong := []error{u.checkAddresses(), u.GPUs.check(), u.checkPool(), u.Disk.check()}
	if u.Name != "" && !spec.ValidHostName(u.Name) {
		wrong = append(wrong, exit.Usagef("--name %q is not 1 to 253 letters, digits and . _ -, beginning with a letter or a digit", u.Name))
	}
	if u.Cluster != "" && !spec.ValidName(u.Cluster) {
		wrong = append(wrong, exit.Usagef("--cluster %q is not a cluster name: 1 to 255 letters, digits, - and _", u.Cluster))
	}
	return exit.Join(wrong...)
}

func (u *UpConfig) checkAddresses() error {
	if _, _, err := net.SplitHostPort(u.Listen); err != nil {
		return exit.Usagef("--listen %q is not an address such as :7400 or 10.0.0.5:7400", u.Listen)
	}
	if u.Advertise != "" {
		if host, port, err := net.SplitHostPort(u.Advertise); err != nil || host == "" || port == "" {
			return exit.Usagef("--advertise %q is not HOST:PORT, such as gpu1.example.com:7400", u.Advertise)
		}
	}
	return nil
}

// DefaultPort is the port that hosts listen on by default.
const DefaultPort = 7400

// checkPool checks the options about other hosts.
func (u *UpConfig) checkPool() error {
	if u.Join != "" {
		if _, _, err := net.SplitHostPort(u.Join); err != nil {
			u.Join = net.JoinHostPort(strings.Trim(u.Join, "[]"), strconv.Itoa(DefaultPort))
		}
		if host, port, err := net.SplitHostPort(u.Join); err != nil || host == "" || port == "" {
			return exit.Usagef("--join %q is not HOST or HOST:PORT, such as gpu1.example.com:7400", u.Join)
		}
	}
	if u.JoinToken != "" && u.Join == "" && os.Getenv("PINION_TOKEN") != u.JoinToken {
		return exit.Usagef("--token and --token-file need --join HOST:PORT, a host of the pool to join")
	}
	if !slices.Contains([]int{0, 1, 3, 5}, u.NewPool.Servers) {
		return exit.Usagef("--servers %d is not 1, 3 or 5", u.NewPool.Servers)
	}
	return nil
}

func parseAttributes(given []string) (map[string]string, error) {
	attributes := map[string]string{}
	for _, pair := range given {
		name, value, found := strings.Cut(pair, "=")
		if !found || !attribute.MatchString(name) || len(value) < 1 || len(value) > 128 {
			return nil, exit.Usagef("--attribute %q is not name=value (each 1 to 128 characters, the name of letters, digits and _ . / \\ -)", pair)
		}
		if spec.ReservedAttribute(name) {
			return nil, exit.Usagef("--attribute %s cannot be set: Pinion derives it from the GPUs of the host and its own version", name)
		}
		attributes[name] = value
	}
	return attributes, nil
}
