package containerd

import (
	"net/url"
	"strconv"

	"pinion/node/runtime"
	"pinion/raftfsm/logdriver"
)

// LogLimits bound the logs of this host, whatever the definitions ask for. 0 is no limit.
type LogLimits struct {
	Container int64 // bytes of one container's log, all its files together
	Task      int64 // bytes of the logs of one task's containers together
	Floor     int64 // bytes of the disk that logs leave free
}

// logURI is the URI by which the shim starts the container's logger, with the log driver and the limits of its files.
func (r *Runtime) logURI(c runtime.ContainerSpec) (string, error) {
	rotation, err := r.logRotation(c)
	if err != nil {
		return "", err
	}
	records, err := c.Def.LogConfiguration.Multiline()
	if err != nil {
		return "", err
	}
	args := url.Values{
		"-file":     {r.config.Logs(c.Task.ID, c.Def.Name)},
		"-max-size": {strconv.FormatInt(rotation.MaxSize, 10)},
		"-max-file": {strconv.Itoa(rotation.MaxFiles)},
		"-floor":    {strconv.FormatInt(r.config.LogLimits.Floor, 10)},
	}
	if log := c.Def.LogConfiguration; log != nil && log.LogDriver != "" {
		args.Set("-driver", log.LogDriver)
	}
	if records != "" {
		args.Set("-multiline", records)
	}
	if !c.IDs.IsZero() {
		args.Set("-owner", strconv.FormatUint(uint64(c.IDs.First), 10))
	}
	if c.TaskDef != nil {
		args.Set("-group", c.TaskDef.LogGroup(c.Def))
	}
	logger := url.URL{Scheme: "binary", Path: r.config.Logger, RawQuery: args.Encode()}
	return logger.String(), nil
}

// logRotation is the log rotation of the definition, within the limits of this host. The containers of a task have equal shares of its limit.
func (r *Runtime) logRotation(c runtime.ContainerSpec) (logdriver.Rotation, error) {
	asked, err := c.Def.LogConfiguration.Rotation()
	if err != nil {
		return asked, err
	}
	given := asked
	if most := r.config.LogLimits.Container; most > 0 {
		given = given.Within(most)
	}
	if most := r.config.LogLimits.Task; most > 0 {
		given = given.Within(most / int64(max(1, len(c.TaskDef.Containers))))
	}
	if given != asked {
		r.config.Log.Info("this host keeps less of a container's log than was asked for; --max-container-logs and --max-task-logs of `pinion up` say how much",
			"task", c.Task.ID, "container", c.Def.Name, "asked", asked.Bytes(), "kept", given.Bytes())
	}
	return given, nil
}
