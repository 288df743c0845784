package env

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"pinion/packaging/atomicfile"
)

// systemRoots are the files in which Linux distributions keep the CAs that programs trust.
var systemRoots = []string{
	"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/cert.pem",
}

// rootsVariable names the file with the CAs that programs trust, for those that have no variable of their own: session-manager-plugin of
// `aws ecs execute-command`. It takes the place of the file that they read otherwise, so it has the CA of the pool behind what is in that. There
// is none outside Linux, where programs do not read the variable.
func rootsVariable(caFile, cacheDir string, getenv func(string) string) (variables []Variable, err error) {
	const name = "SSL_CERT_FILE"
	if caFile == "" || runtime.GOOS != "linux" {
		return nil, nil
	}
	ca, err := os.ReadFile(caFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // of a host that makes it when it starts; AWS_CA_BUNDLE names it all the same
	}
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(cacheDir, "pinion")
	others := systemRoots
	if has := getenv(name); has != "" && filepath.Dir(has) != dir { // the user's own, and not one of these
		others = append([]string{has}, systemRoots...)
	}
	var roots []byte
	for _, path := range others {
		if other, err := os.ReadFile(path); err == nil {
			roots = append(append(other, '\n'), ca...)
			break
		}
	}
	if roots == nil {
		return nil, errors.New("the CAs of the system are in no file that is known, and without them other programs would trust none but this pool")
	}
	sum := sha256.Sum256(roots)
	path := filepath.Join(dir, "roots-"+hex.EncodeToString(sum[:8])+".pem")
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
