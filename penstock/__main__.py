"""`python -m penstock`: the command line."""

from penstock.server.command_line import main

if __name__ == "__main__":
    main()
