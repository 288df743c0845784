package run

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/raftfsm/spec"
)

// containerFlags are the flags about the container, with the names and forms that they have in docker.
func containerFlags() []cli.Flag {
	variables := []cli.Flag{
		&cli.StringSliceFlag{Name: "env", Aliases: []string{"e"}, Usage: "environment variable `NAME=VALUE`, or NAME to pass on its value; repeatable"},
		&cli.StringSliceFlag{Name: "env-file", Usage: "environment variables from `FILE`, NAME=VALUE on each line; repeatable"},
	}
	return slices.Concat(variables, secretFlags(), []cli.Flag{
		&cli.StringSliceFlag{Name: "volume", Aliases: []string{"v"}, Usage: "mount `HOST:CONTAINER[:ro]`: a directory that the host gives to tasks (pinion up --volume), or local/NAME; repeatable"},
		&cli.StringSliceFlag{Name: "device", Usage: "give the container `HOST[:CONTAINER[:rwm]]`, a device that the host gives to tasks (pinion up --device); repeatable"},
		&cli.StringSliceFlag{Name: "publish", Aliases: []string{"p"}, Usage: "publish `[HOST_PORT:]PORT[/udp]` of the container on its host; repeatable"},
		&cli.StringFlag{Name: "network", DefaultText: "bridge", Usage: "`MODE`: bridge, host, awsvpc for an address of its own, or none"},
		&cli.StringFlag{Name: "workdir", Aliases: []string{"w"}, Usage: "working directory `DIR` in the container"},
		&cli.StringFlag{Name: "user", Aliases: []string{"u"}, Usage: "`USER[:GROUP]` in the container, names or numbers"},
		&cli.StringFlag{Name: "entrypoint", Usage: "`PROGRAM` instead of the entry point of the image"},
		&cli.BoolFlag{Name: "init", Usage: "begin the container with an init, which hands signals on to the command and reaps processes"},
		&cli.StringSliceFlag{Name: "ulimit", Usage: "limit `NAME=SOFT[:HARD]`, such as memlock=-1; repeatable"},
		&cli.StringFlag{Name: "stop-timeout", DefaultText: "30s", Usage: "`TIME` from SIGTERM to SIGKILL when the task is stopped, such as 2m; a number is seconds"},
		&cli.StringSliceFlag{Name: "label", Aliases: []string{"l"}, Usage: "label `NAME=VALUE` of the container; repeatable"},
		&cli.StringFlag{Name: "name", DefaultText: "from the image", Usage: "`NAME` of the container; the family is run-NAME"},
		&cli.BoolFlag{Name: "rm", Usage: "has no effect: stopped tasks are removed by themselves"},
	})
}

// linuxOf are the Linux parameters of a container, made when there are none.
func linuxOf(container *spec.ContainerDefinition) *spec.LinuxParameters {
	if container.LinuxParameters == nil {
		container.LinuxParameters = &spec.LinuxParameters{}
	}
	return container.LinuxParameters
}

// readEnvFile reads NAME=VALUE from each line; empty lines and those that begin with # are left out.
func readEnvFile(path string) (variables []string, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("--env-file: %w", err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		name, _, given := strings.Cut(line, "=")
		if _, here := os.LookupEnv(name); !given && !here {
			return nil, exit.Usagef("--env-file %s:%d: the variable %s is not set here; write %s=VALUE", path, number, name, name)
		}
		if strings.ContainsAny(name, " \t") {
			return nil, exit.Usagef("--env-file %s:%d: %q is no name of a variable: the file is read line by line as NAME=VALUE, and by no shell", path, number, name)
		}
		variables = append(variables, line)
	}
	return variables, lines.Err()
}

func applyProcess(c *cli.Context, _ *Definition, container *spec.ContainerDefinition) error {
	container.WorkingDirectory, container.User = c.String("workdir"), c.String("user")
	if c.Bool("init") {
		linuxOf(container).InitProcessEnabled = new(true)
	}
	for _, given := range c.StringSlice("device") {
		device, err := parseDevice(given)
		if err != nil {
			return err
		}
		linuxOf(container).Devices = append(linuxOf(container).Devices, device)
	}
	if program := c.String("entrypoint"); program != "" {
		container.EntryPoint = []string{program}
	}
	if text := c.String("stop-timeout"); text != "" {
		if _, err := strconv.Atoi(text); err == nil {
			text += "s"
		}
		timeout, err := format.ParseSpan(text)
		seconds := int(timeout.Round(time.Second).Seconds())
		if err != nil || seconds < 1 {
			return exit.Usagef("--stop-timeout %q is not a time of 1 s or more, such as 90 or 2m", c.String("stop-timeout"))
		}
		container.StopTimeout = &seconds
	}
	for _, given := range c.StringSlice("ulimit") {
		name, value, found := strings.Cut(given, "=")
		soft, hard, both := strings.Cut(value, ":")
		if !both {
			hard = soft
		}
		from, err1 := strconv.ParseInt(soft, 10, 64)
		to, err2 := strconv.ParseInt(hard, 10, 64)
		if !found || err1 != nil || err2 != nil {
			return exit.Usagef("--ulimit %q is not NAME=SOFT[:HARD], such as memlock=-1 or nofile=65536:65536", given)
		}
		container.Ulimits = append(container.Ulimits, spec.Ulimit{Name: name, SoftLimit: from, HardLimit: to})
	}
	for _, given := range c.StringSlice("label") {
		name, value, _ := strings.Cut(given, "=")
		if name == "" {
			return exit.Usagef("--label %q has no name before the =", given)
		}
		if container.DockerLabels == nil {
			container.DockerLabels = map[string]string{}
		}
		container.DockerLabels[name] = value
	}
	return nil
}

func applyPorts(c *cli.Context, _ *Definition, container *spec.ContainerDefinition) error {
	for _, given := range c.StringSlice("publish") {
		ports, protocol, found := strings.Cut(given, "/")
		if strings.Count(ports, ":") > 1 {
			return exit.Usagef("--publish %q: an IP address is not supported, a port is published on all addresses of its host: write [HOST_PORT:]PORT", given)
		}
		if !found {
			protocol = "tcp"
		}
		hostPort, inside, both := strings.Cut(ports, ":")
		if !both {
			hostPort, inside = "0", ports
		}
		outer, err1 := strconv.ParseUint(hostPort, 10, 16)
		inner, err2 := strconv.ParseUint(inside, 10, 16)
		if err1 != nil || err2 != nil || inner == 0 || protocol != "tcp" && protocol != "udp" {
			return exit.Usagef("--publish %q is not [HOST_PORT:]PORT[/udp], such as 8080:80", given)
		}
		container.PortMappings = append(container.PortMappings, spec.PortMapping{ContainerPort: int(inner), HostPort: int(outer), Protocol: protocol})
	}
	return nameFirstPort(c, container.PortMappings)
}

// nameFirstPort gives the first port the name that the alias of a service leads to.
func nameFirstPort(c *cli.Context, ports []spec.PortMapping) error {
	alias, err := ParseAlias(c)
	if alias == nil || err != nil {
		return err
	}
	if len(ports) == 0 || ports[0].Protocol != "tcp" {
		return exit.Usagef("--alias %s needs a port to lead to: publish one of TCP first, such as -p 8000", alias.Name)
	}
	if ports[0].Name = alias.Protocol; alias.Protocol != "tcp" {
		ports[0].AppProtocol = alias.Protocol
	}
	return nil
}
