"""Where guesses come from. Each provider answers the port `application.ports.Provider`."""
