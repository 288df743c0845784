package spec

// CA is the pool's certificate authority. It is part of the state so that every server can sign; whoever can
// read a server's data directory can therefore make certificates, and the files are mode 0600.
type CA struct {
	Certificate []byte `json:"certificate"` // PEM, one certificate
	Key         []byte `json:"key"`         // PEM, PKCS #8; never logged
}
