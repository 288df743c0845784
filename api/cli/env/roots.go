package env

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"pinion/packaging/atomicfile"
)

// systemRoots are the files in which Linux distributions keep the CAs that programs trust.
var systemRoots = []string{
	"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/cert.pem",
}

// rootsVariable names the file with the CAs that programs trust, for those that have no variable of their own: session-manager-plugin of
// `aws ecs execute-command`. The file has the CA of the pool beside those of the system, because it takes their place. There is no variable where the
// user has one, and outside Linux, where programs do not read it.
func rootsVariable(caFile, cacheDir string, getenv func(string) string) (variables []Variable, err error) {
	const name, prefix = "SSL_CERT_FILE", "roots-"
	dir := filepath.Join(cacheDir, "pinion")
	if has := getenv(name); caFile == "" || runtime.GOOS != "linux" || has != "" && !strings.HasPrefix(has, filepath.Join(dir, prefix)) {
		return nil, nil
	}
	roots, err := os.ReadFile(caFile)
	if err != nil {
		return nil, err
	}
	for _, path := range systemRoots {
		if system, err := os.ReadFile(path); err == nil {
			roots = append(append(system, '\n'), roots...)
			break
		}
	}
	sum := sha256.Sum256(roots)
	path := filepath.Join(dir, prefix+hex.EncodeToString(sum[:8])+".pem")
	if _, err := os.Stat(path); err == nil {
		return []Variable{{Name: name, Value: path}}, nil
	}
	if err := errors.Join(os.MkdirAll(dir, 0o700), atomicfile.Write(path, roots, 0o600)); err != nil {
		return nil, fmt.Errorf("the CAs for %s: %w", name, err)
	}
	return []Variable{{Name: name, Value: path}}, nil
}

// ownRoots is rootsVariable with the cache directory of this user. What keeps it from being written is said, and that is all: one client alone
// needs it.
func ownRoots(caFile string) []Variable {
	dir, err := os.UserCacheDir()
	if err == nil {
		var variables []Variable
		if variables, err = rootsVariable(caFile, dir, os.Getenv); err == nil {
			return variables
		}
	}
	fmt.Fprintf(os.Stderr, "`aws ecs execute-command` will not trust this pool without SSL_CERT_FILE, which cannot be set: %v\n", err)
	return nil
}
