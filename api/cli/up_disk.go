package cli

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/raftfsm/logdriver"
)

// DiskConfig bounds what a host keeps on its disk. A field that is 0 has the default of its flag.
type DiskConfig struct {
	// MinFree is how many bytes of the disk logs and images leave free.
	MinFree int64
	// Logs, TaskLogs and ContainerLogs bound the logs of the host, of one task and of one container, in bytes.
	Logs, TaskLogs, ContainerLogs int64
	// ImagesHigh is the share of their disk in use, in percent, above which unused images are removed until it is ImagesLow.
	ImagesHigh, ImagesLow int
	// ImageMaxAge is the time without use after which an image is removed.
	ImageMaxAge time.Duration
	// ImageUploadRate is how many bytes a second of its images the host gives other hosts; 0: as many as it can.
	ImageUploadRate int64
	// KeepTasks is how long a server keeps tasks that have ended, KeepTasksCount how many of them, KeepTasksBytes in how much.
	KeepTasks                      time.Duration
	KeepTasksCount, KeepTasksBytes int64
}

// diskFlags are the flags of DiskConfig.
func diskFlags(d *DiskConfig) []cli.Flag {
	size := func(name, standard, usage string, to *int64) cli.Flag {
		return &cli.GenericFlag{Name: name, Value: (*diskSize)(to), DefaultText: standard, Usage: usage}
	}
	return []cli.Flag{
		size("min-free", "5% of the disk, at most 1g", "`SIZE` of the disk that stays free: below it logs stop and images are not pulled", &d.MinFree),
		size("max-logs", "a tenth of the disk, at most 100g", "`SIZE` of all logs; those of tasks that ended first go first", &d.Logs),
		size("max-task-logs", "2g", "`SIZE` of the logs of one task", &d.TaskLogs),
		size("max-container-logs", "1g", "`SIZE` of the log of one container, whatever its max-size and max-file", &d.ContainerLogs),
		&cli.IntFlag{Name: "image-gc-high", Destination: &d.ImagesHigh, DefaultText: "85", Usage: "`PERCENT` of their disk in use above which unused images are removed"},
		&cli.IntFlag{Name: "image-gc-low", Destination: &d.ImagesLow, DefaultText: "80", Usage: "`PERCENT` of their disk in use until which they are removed"},
		&cli.DurationFlag{Name: "image-max-age", Destination: &d.ImageMaxAge, DefaultText: "720h", Usage: "`TIME` without use after which an image is removed"},
		size("image-upload-rate", "no limit", "`SIZE` a second of its images that the host gives the others of its pool", &d.ImageUploadRate),
		&cli.GenericFlag{Name: "keep-tasks", Value: (*days)(&d.KeepTasks), DefaultText: "30d", Usage: "`TIME` that a server keeps tasks that have ended, such as 30d"},
		&cli.Int64Flag{Name: "keep-tasks-count", Destination: &d.KeepTasksCount, DefaultText: "2000000", Usage: "`NUMBER` of them at most"},
		size("keep-tasks-size", "1g", "`SIZE` of them at most", &d.KeepTasksBytes),
	}
}

// days is a flag for a duration, which may be in days.
type days time.Duration

// Set is flag.Value.
func (d *days) Set(text string) error {
	if n, err := strconv.ParseUint(strings.TrimSuffix(text, "d"), 10, 16); err == nil && n > 0 && strings.HasSuffix(text, "d") {
		*d = days(n) * days(24*time.Hour)
		return nil
	}
	given, err := time.ParseDuration(text)
	if err != nil || given < time.Hour {
		return errors.New("a time such as 30d or 12h is needed, of an hour or more")
	}
	*d = days(given)
	return nil
}

// String is flag.Value; the default stands in the flag's DefaultText.
func (d *days) String() string { return "" }

// check checks the options about the disk against one another.
func (d *DiskConfig) check() error {
	high, low := d.ImagesHigh, d.ImagesLow
	switch {
	case high < 0 || high > 100 || low < 0 || low > 100:
		return exit.Usagef("--image-gc-high and --image-gc-low are percents of the disk, 1 to 100")
	case (high != 0 || low != 0) && (high == 0 || low == 0 || low >= high):
		return exit.Usagef("--image-gc-high %d and --image-gc-low %d: give both, and the low one must be less", high, low)
	case d.KeepTasksCount < 0:
		return exit.Usagef("--keep-tasks-count is a number of tasks, 1 or more")
	case d.ImageMaxAge < 0:
		return exit.Usagef("--image-max-age is a duration such as 168h, and not negative")
	case d.ContainerLogs > logdriver.MaxBytes:
		return exit.Usagef("--max-container-logs is at most %dg, as task definitions have it", logdriver.MaxBytes>>30)
	}
	return nil
}

// diskSize is a flag for a size as docker writes it.
type diskSize int64

// Set is flag.Value.
func (s *diskSize) Set(text string) error {
	n, err := logdriver.ParseSize(text)
	*s = diskSize(n)
	return err
}

// String is flag.Value; the default stands in the flag's DefaultText.
func (s *diskSize) String() string { return "" }
