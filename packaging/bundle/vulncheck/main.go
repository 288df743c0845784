// Vulncheck looks for known vulnerabilities in pinion and in each program that travels inside it: govulncheck reads the sources as they are
// built, tags included, and tells which vulnerable functions are called. Run it from the root of the repository; `make vulncheck` does.
// GOVULNDB names the database: https://vuln.go.dev, or a copy of it at another address or in a directory (file:///DIR).
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path"
	"strings"
	"time"

	"pinion/packaging/bundle/tool"
)

const (
	publicDatabase = "https://vuln.go.dev"
	// answerTimeout bounds the first answer of the database.
	answerTimeout = 30 * time.Second
	// exitVulnerable is govulncheck's status when vulnerable functions are called.
	exitVulnerable = 3
)

var (
	errDatabase   = errors.New("no database of vulnerabilities, so nothing was checked")
	errVulnerable = errors.New("vulnerable functions are called")
)

func main() {
	programs := append([]tool.Tool{{Name: "pinion", Package: "."}}, tool.All...)
	if err := check(context.Background(), os.Stdout, cmp.Or(os.Getenv("GOVULNDB"), publicDatabase), programs); err != nil {
		fmt.Fprintln(os.Stderr, "vulncheck:", err)
		os.Exit(1)
	}
}

// check runs govulncheck on each program. It goes on after findings, and returns errVulnerable with the programs that have some.
func check(ctx context.Context, out io.Writer, database string, programs []tool.Tool) error {
	if err := reach(ctx, database); err != nil {
		return fmt.Errorf("%w: %s: %w; name a copy that this machine reaches with GOVULNDB (https://..., file:///DIR)", errDatabase, database, err)
	}
	govulncheck, err := exec.CommandContext(ctx, "go", "tool", "-n", "govulncheck").Output()
	if err != nil {
		return fmt.Errorf("building govulncheck: %w", err)
	}
	var vulnerable []string
	for _, p := range programs {
		fmt.Fprintf(out, "vulncheck: %s\n", p.Name)
		cmd := exec.CommandContext(ctx, strings.TrimSpace(string(govulncheck)), "-db", database, "-tags", strings.ReplaceAll(p.Tags, " ", ","), p.Package)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if p.CGo {
			cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
		}
		cmd.Stdout, cmd.Stderr = out, out
		err := cmd.Run()
		if ended := new(exec.ExitError); errors.As(err, &ended) && ended.ExitCode() == exitVulnerable {
			vulnerable = append(vulnerable, p.Name)
		} else if err != nil {
			return fmt.Errorf("govulncheck of %s: %w", p.Name, err)
		}
	}
	if len(vulnerable) > 0 {
		return fmt.Errorf("%w in %s", errVulnerable, strings.Join(vulnerable, ", "))
	}
	return nil
}

// reach asks the database when it was changed last. govulncheck's own errors would not say what to do.
func reach(ctx context.Context, database string) error {
	if dir, isFile := strings.CutPrefix(database, "file://"); isFile {
		_, err := os.Stat(path.Join(dir, "index/db.json"))
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(database, "/")+"/index/db.json", nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("it answers %s", response.Status)
	}
	return nil
}
