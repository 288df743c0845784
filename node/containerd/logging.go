package containerd

import (
	"net/url"
	"strconv"

	"pinion/node/runtime"
)

// logURI is the URI by which the shim starts the container's logger, with the log driver and the limits of its files.
func (r *Runtime) logURI(c runtime.ContainerSpec) (string, error) {
	args := url.Values{"-file": {r.config.Logs(c.Task.ID, c.Def.Name)}}
	maxSize, maxFiles, err := c.Def.LogConfiguration.Rotation()
	if err != nil {
		return "", err
	}
	if maxSize > 0 {
		args.Set("-max-size", strconv.FormatInt(maxSize, 10))
	}
	if maxFiles > 0 {
		args.Set("-max-file", strconv.Itoa(maxFiles))
	}
	if log := c.Def.LogConfiguration; log != nil && log.LogDriver != "" {
		args.Set("-driver", log.LogDriver)
	}
	logger := url.URL{Scheme: "binary", Path: r.config.Logger, RawQuery: args.Encode()}
	return logger.String(), nil
}
