package demo

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"pinion/api/client"
)

// startHost starts a host, and waits until it has said all that it says when it is ready. What it logs goes into a file.
func (d *demo) startHost(ctx context.Context, logFile, gpus string) error {
	log, err := os.Create(logFile)
	if err != nil {
		return err
	}
	defer log.Close()
	host := d.command(context.WithoutCancel(ctx), "up", "--config", "", "--listen", "127.0.0.1:0", "--gpus", gpus)
	host.Stdout, host.Stderr = nil, log
	said, err := host.StdoutPipe()
	if err != nil {
		return err
	}
	if err := host.Start(); err != nil {
		return err
	}
	d.host = host.Process
	ready := make(chan struct{})
	go func() {
		next := 0
		for lines := bufio.NewScanner(said); lines.Scan(); {
			fmt.Fprintln(d.out, lines.Text())
			if address, is := strings.CutPrefix(lines.Text(), "Pinion is ready at "); is {
				d.address = address
			}
			if strings.HasPrefix(lines.Text(), "  next ") || next > 0 {
				next++
			}
			if next == nextCommands {
				close(ready)
			}
		}
		d.ended <- host.Wait()
		close(d.ended)
	}()
	select {
	case <-ready:
		return nil
	case err := <-d.ended:
		text, _ := os.ReadFile(logFile)
		return fmt.Errorf("the host has ended: %w\n%s", errors.Join(err, ctx.Err()), text)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// nextCommands are the lines with which a host ends what it says when it is ready.
const nextCommands = 3

// stopHost ends the host and waits for it: `pinion down` finds all that there is afterwards, also of a host that had just begun.
func (d *demo) stopHost() {
	if d.host != nil {
		_ = d.host.Signal(syscall.SIGTERM) // it may have ended
		<-d.ended
	}
}

func (d *demo) client() (*client.Client, error) {
	return client.New(client.Config{Socket: filepath.Join(d.data, "pinion.sock")})
}

// command is a command of pinion about the host of the demo.
func (d *demo) command(ctx context.Context, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, d.program, append([]string{"--data-dir", d.data}, args...)...)
	command.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { // what is set for the real host, or for another pool
		return strings.HasPrefix(v, "PINION_") || strings.HasPrefix(v, "AWS_")
	})
	command.Stdout, command.Stderr = d.out, os.Stderr
	return command
}

// run shows a command and what it prints.
func (d *demo) run(ctx context.Context, args ...string) error {
	fmt.Fprintf(d.out, "$ pinion %s\n", strings.Join(args, " "))
	if err := d.command(ctx, args...).Run(); err != nil {
		return fmt.Errorf("pinion %s: %w", strings.Join(args, " "), err)
	}
	return nil
}

func (d *demo) printHeading(text string) { fmt.Fprintf(d.out, "\n== %s\n", text) }
