package oracle

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// The files of Oracle Net that the images keep on the volume, beside the server parameter file.
const (
	listenerFile = "listener.ora"
	namesFile    = "tnsnames.ora"
)

func (i *Instance) netFile(name string) string {
	return filepath.Join(i.cfg.Data, "dbconfig", i.cfg.SID, name)
}

// configureNet writes the files of Oracle Net when the database is created, as the images do:
// those of Oracle Free with the name of the host (docker-images issues 2823 and 3077).
func (i *Instance) configureNet() error {
	address := fmt.Sprintf("(ADDRESS = (PROTOCOL = TCP)(HOST = %s)(PORT = 1521))", i.cfg.ListenerHost)
	service := func(name string) string {
		return fmt.Sprintf("%s =\n  (DESCRIPTION =\n    %s\n    (CONNECT_DATA =\n      (SERVER = DEDICATED)\n"+
			"      (SERVICE_NAME = %s)\n    )\n  )\n\n", name, address, name)
	}
	for name, text := range map[string]string{
		listenerFile: "LISTENER =\n  (DESCRIPTION_LIST =\n    (DESCRIPTION =\n      (ADDRESS = (PROTOCOL = IPC)(KEY = EXTPROC1521))\n" +
			"      " + address + "\n    )\n  )\n",
		namesFile: service(i.cfg.SID) + "LISTENER_" + i.cfg.SID + " =\n  " + address + "\n\n" + service(i.cfg.PDB),
	} {
		if err := os.MkdirAll(filepath.Dir(i.netFile(name)), 0o750); err != nil {
			return err
		}
		if err := os.WriteFile(i.netFile(name), []byte(text), 0o640); err != nil {
			return err
		}
	}
	return nil
}

// listen starts the listener where listener.ora lets it. Where that names another host the
// listener does not start, and the database opens all the same.
func (i *Instance) listen(ctx context.Context) error {
	text, err := os.ReadFile(i.netFile(listenerFile))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	here := []string{"0.0.0.0", "localhost", "127.0.0.1", strings.ToLower(i.cfg.Host)}
	for _, m := range regexp.MustCompile(`(?i)\(\s*HOST\s*=\s*([^)\s]+)\s*\)`).FindAllStringSubmatch(string(text), -1) {
		if !slices.Contains(here, strings.ToLower(m[1])) {
			i.alert.print("TNS-12545: Connect failed because target host or object does not exist\n" +
				" TNS-12560: TNS:protocol adapter error\n  TNS-00515: Connect failed because target host or object does not exist\n" +
				"Failed to start Oracle Net Listener")
			return nil
		}
	}
	listen := net.ListenConfig{}
	if i.listener, err = listen.Listen(ctx, "tcp", i.cfg.Listen); err != nil {
		return err
	}
	i.serving.Go(i.accept)
	return nil
}
