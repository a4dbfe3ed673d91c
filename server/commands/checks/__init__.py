"""What `penstock doctor` looks at: each module checks one thing that the server depends on."""
